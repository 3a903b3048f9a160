/** The HTTP exchange: one guarded connection per lane, one request and its answer. Start at `exchange`. */

export type { Exchange } from './answer.ts'
export { Body } from './body.ts'
export { type LaneConnections, openConnections } from './connections.ts'
export { checkEgress } from './egress.ts'
export { type Confirm, type ExchangeRequest, exchange, type Head, type LastCheck } from './exchange.ts'
export { countFrames } from './frame-counter.ts'
export { watchEnd } from './h2-streams.ts'
export { openLookup } from './lookup.ts'
export { failureOf } from './read-answer.ts'
