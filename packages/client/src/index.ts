/**
 * What a crawl frontier imports. Start at `openFrontier`: its `enqueue` stores candidates (enqueue.ts), its `outcomes` reads what
 * became of them through a consumer group (outcomes.ts), and with a fetched page comes its content (`openContent` of
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
