/**
 * The data that crosses a process border, and nothing else. Start at a candidate (①, candidate.ts), the order that a gateway makes of it
 * (④, order.ts) and the outcome (⑥, outcome.ts; its closed lists are in reasons.ts). The rest says where they go: origins, partitions,
 * queues, the address of Redis.
 */
export { aborted } from './aborted.ts'
export { base32 } from './base32.ts'
export {
  assignedId,
  Candidate,
  type CandidateRefusal,
  candidatesOf,
  crawlOfJob,
  frontierJob,
  isAssigned,
  isFrontierJob,
  MAX_BATCH,
  MAX_ID_CHARS,
  MAX_META_BYTES,
  type ReadCandidate,
  readCandidate,
  wrongEnvelope,
} from './candidate.ts'
export { CrawlName, crawlField, outcomesKey, POOL_NAME, PoolName } from './crawl.ts'
export { DEFAULT_CRAWL } from './crawl-name.ts'
export { codingsOf, contentTypeOf, type Fields, linesOf, mediaTypeOf, membersOf, single } from './headers.ts'
export { HOP_EXAMPLE, hopId } from './hop-id.ts'
export { nearestName } from './nearest-name.ts'
export {
  MAX_ORDERS_PER_JOB,
  type Order,
  ordersIn,
  orderUrl,
  type ReadOrder,
  type UnreadableOrder,
  type WrittenOrder,
  writtenOrder,
} from './order.ts'
export {
  type CrawlUrl,
  domainOf,
  hostOf,
  MAX_PATH_BYTES,
  MAX_URL_CHARS,
  namesRobotsTxt,
  printableUrl,
  REQUEST_HEAD_BYTES,
  readUrl,
  registrableDomain,
  type UrlRefusal,
} from './origin.ts'
export {
  type ArchiveRef,
  type Outcome,
  type OutcomeAbout,
  type OutcomeBody,
  outcomeOf,
  type PageSays,
  type RuleRef,
  readOutcome,
  TRUNCATED,
  type Truncated,
} from './outcome.ts'
export { MAX_PARTITIONS, partitionOf, partitionTags, slotOf, tagName } from './partition.ts'
export { printable, printableAll, printableJson, printableLog } from './printable.ts'
export { PROBLEM_TYPE, type ProblemBody, problemBody } from './problem.ts'
export { CANDIDATES, JOB_NAMES, ORDERS, queueOptions } from './queues.ts'
export {
  type Explained,
  FAILURE_REASONS,
  FAILURES,
  type FailureReason,
  GATES,
  type Gate,
  HOLDING_GATES,
  INVALID_REASONS,
  INVALIDS,
  type InvalidReason,
  KINDS,
  OUTCOME_KINDS,
  type OutcomeKind,
  REFUSALS,
  REFUSED_REASONS,
  type RefusedReason,
} from './reasons.ts'
export {
  candidateOf,
  isRedirect,
  meaningOf,
  PAGE_MAX_HOPS,
  type RedirectedOrder,
  type RedirectTarget,
  type Target,
  targetOf,
} from './redirect.ts'
export {
  placeName,
  type RedisAddress,
  RedisAddressError,
  type RedisLogin,
  type RedisNode,
  type RedisPlace,
  type RedisTls,
  readRedisAddress,
  redisPlaces,
  withoutLogin,
} from './redis-address.ts'
export { OrderedShape } from './request-fields.ts'
export {
  isAccepted,
  isConditional,
  MAX_SHAPE_BYTES,
  type RequestShape,
  SHAPE_FIELDS,
  shapeOf,
  shapeOfTarget,
  traceOf,
} from './request-shape.ts'
export {
  abortAfter,
  type Clock,
  DAY,
  type Deadline,
  FOREVER,
  HOUR,
  type Instant,
  isForever,
  LAST_INSTANT,
  MINUTE,
  SECOND,
  systemClock,
  type Timer,
} from './time.ts'
export { TOLERATED, type Tolerated } from './tolerated.ts'
