/**
 * Entry point for a crawl frontier. Start at `openFrontier`: its `enqueue` stores candidates (enqueue.ts), its `outcomes` reads their
 * outcomes through a consumer group (outcomes.ts), and each fetched page comes with its content (`openContent` of
 * `@decorum/content`).
 */
export {
  type Content,
  ContentError,
  type ContentErrorCode,
  type ContentOptions,
  type Link,
  openContent,
} from '@decorum/content'
export type { Outcome } from '@decorum/protocol/outcome'
export { FrontierUnavailableError, FrontierUnfitError } from './errors.ts'
export { openFrontier } from './frontier.ts'
export type {
  Candidate,
  Delivery,
  Frontier,
  FrontierOptions,
  GroupOptions,
  OutcomesOptions,
  RedisInstance,
} from './types.ts'
