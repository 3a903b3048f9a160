/** Parts of the client for unit tests. Frontiers import only index.ts. */
export { Acknowledger } from './acknowledge.ts'
export { connectTo } from './connection.ts'
export { openWith } from './frontier.ts'
export { readOutcomes } from './outcomes.ts'
export { claimFromDead } from './stream-group.ts'
export type { Patience } from './types.ts'
