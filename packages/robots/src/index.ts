/**
 * Exact robots.txt: parses, matches, explains, and keeps the facts about one origin. Pure: no I/O, no clock, no dependency. Start at
 * `parseRobots`; `step` and `judge` are the origin state machine.
 */
export type { Agent } from './agent.ts'
export { productToken } from './agent.ts'
export type { AllowedReason, Judgement } from './judge.ts'
export { judge, needsRules } from './judge.ts'
export { MAX_RETRY_AFTER_MS, ROBOTS_MAX_BYTES } from './limits.ts'
export type { Copy, Instant, RobotsEvent, RobotsState, UnansweredReason } from './origin-state.ts'
export { hashesOf, step, unknownOrigin } from './origin-state.ts'
export { isCutShort, plainText } from './packed.ts'
export type { ParseOptions } from './parse.ts'
export { parseRobots } from './parse.ts'
export type { AnswerKind, Meaning, Policy } from './policies.ts'
export { policies } from './policies.ts'
export type { ProfileName } from './readings.ts'
export { parseRetryAfter, type RetryAfter, readRetryAfter } from './retry-after.ts'
export type {
  DelayExplanation,
  Explanation,
  Group,
  GroupWithRules,
  Loser,
  OriginRobots,
  OtherRecord,
  RobotsTxt,
  Rule,
  Verdict,
  VerdictReason,
  Warning,
  WarningKind,
} from './robots-txt.ts'
export type { RobotsSource } from './source.ts'
