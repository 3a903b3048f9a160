/** The HTTP exchange: one guarded connection per lane, one request and its answer. Start at `exchange`. */
export { type LaneConnections, openConnections } from './connections.ts'
export { checkEgress } from './egress.ts'
export { type Ask, type Confirm, exchange, type LastCheck } from './exchange.ts'
export { openLookup } from './lookup.ts'
export { failureOf } from './read-answer.ts'
