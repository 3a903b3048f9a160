/** The whole model: what it remembers, and one function per verb. */

export * from './rules-crawls.ts'
export * from './rules-delays.ts'
export * from './rules-gates.ts'
export * from './rules-lanes.ts'
export * from './rules-leases.ts'
export * from './rules-origins.ts'
export * from './rules-permits.ts'
export * from './rules-policies.ts'
export * from './rules-queues.ts'
export * from './rules-stops.ts'
export * from './rules-turns.ts'
export * from './state.ts'
