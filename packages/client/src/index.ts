/**
 * What a crawl frontier imports. Start at `openFrontier`: its `enqueue` stores candidates (enqueue.ts), its `outcomes` reads what
 * became of them through a consumer group (outcomes.ts).
 */

export type { Candidate, Outcome } from '@decorum/protocol'
export { FrontierUnavailableError, FrontierUnfitError } from './errors.ts'
export { type Frontier, openFrontier } from './frontier.ts'
export type { FrontierOptions } from './options.ts'
export type { Delivery, OutcomesOptions } from './outcomes.ts'
