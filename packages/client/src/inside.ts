/** Pieces of the client that tests look at one by one. Frontiers import index.ts alone. */
export { Acknowledger } from './acknowledge.ts'
export { connectTo } from './connection.ts'
export { openWith } from './frontier.ts'
export { OutcomeReader } from './outcomes.ts'
export { claimFromDead } from './stream-group.ts'
export type { Patience } from './types.ts'
