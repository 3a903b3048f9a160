/** The parts of the proxy that tests use one by one. Not for other services. */
export { clients } from './client.ts'
export { fieldsOf, isLoop, toClient, toSite } from './fields.ts'
export type { Parts } from './parts.ts'
export { Places } from './places.ts'
export { endTurn, keepLease, waitForTurn } from './turn.ts'
