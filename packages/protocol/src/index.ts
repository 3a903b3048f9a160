/** What crosses a process border, and nothing else: candidate ①, order ④, outcome ⑥, and how they are addressed. */
export { type AddressRange, addressRanges, entriesOf } from './address-ranges.ts'
export {
  assignedId,
  Candidate,
  type CandidateRefusal,
  candidatesOf,
  frontierJob,
  isAssigned,
  isFrontierJob,
  MAX_BATCH,
  MAX_ID_CHARS,
  MAX_META_BYTES,
  type ReadCandidate,
  readCandidate,
} from './candidate.ts'
export { hopId } from './hop-id.ts'
export {
  MAX_ORDERS_PER_JOB,
  type Order,
  ordersIn,
  orderUrl,
  type ReadOrder,
  type UnreadableOrder,
  writtenOrder,
} from './order.ts'
export {
  type CrawlUrl,
  hostOf,
  MAX_PATH_BYTES,
  MAX_URL_CHARS,
  namesRobotsTxt,
  printableUrl,
  readUrl,
  registrableDomain,
  type UrlRefusal,
} from './origin.ts'
export {
  type ArchiveRef,
  FAILURE_REASONS,
  type FailureReason,
  type Gate,
  OUTCOME_KINDS,
  type Outcome,
  type OutcomeAbout,
  type OutcomeBody,
  type OutcomeKind,
  outcomeOf,
  type RuleRef,
} from './outcome.ts'
export { partitionOf, partitionTags, slotOf, tagName } from './partition.ts'
export { printable, printableAll, printableJson, printableLog } from './printable.ts'
export { CANDIDATES, JOB_NAMES, ORDERS, queueOptions } from './queues.ts'
export {
  type RedisAddress,
  RedisAddressError,
  type RedisLogin,
  type RedisNode,
  readRedisAddress,
  redisPlaces,
} from './redis-address.ts'
export { DAY, HOUR, type Instant, LAST_INSTANT, MINUTE, SECOND } from './time.ts'
