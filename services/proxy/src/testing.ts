/** Parts of the proxy for unit tests. Not for other services. */
export { clients } from './client.ts'
export { fieldsOf, isLoop, toClient, toSite } from './fields.ts'
export type { Parts } from './parts.ts'
export { Places } from './places.ts'
export { endTurn, keepLease, waitForTurn } from './turn.ts'
