/** What a crawl frontier imports: candidates in, outcomes out. Start at `openFrontier`. */

export type { Candidate, Outcome } from '@decorum/protocol'
export { FrontierUnavailableError, FrontierUnfitError } from './errors.ts'
export { type Frontier, type FrontierOptions, openFrontier } from './frontier.ts'
export type { Delivery, OutcomesOptions } from './outcomes.ts'
