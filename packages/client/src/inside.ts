/** Pieces of the client that tests look at one by one. Frontiers import index.ts alone. */
export { Acknowledger } from './acknowledge.ts'
export { connectTo } from './connection.ts'
export { OutcomeReader, type Patience } from './outcomes.ts'
export { claimFromDead } from './stream-group.ts'
