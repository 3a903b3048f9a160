/**
 * How long a lane waits after each exchange, what decided it, and which lanes share a delay. Everything in these files is pure; nothing
 * else computes a delay. Start at `effectiveDelay` (what an agent owes under given rules); `delayOwed` says what the ledger
 * knows of a lane, `loadPaceGroups` which lanes share a delay, and `Shares` who may take the next of some slots. Whether a URL may be
 * visited at all is judged in admission/, which reads the ledger and has an entry of its own.
 */
export { type DelayOwed, delayOwed, delaySentence } from './delay-owed.ts'
export { type Delay, delayAfter, delayByRules, effectiveDelay, tokensOf } from './effective-delay.ts'
export { loadPaceGroups, type PaceGroups, type PaceLanes } from './pace-groups.ts'
export { type PolicyVersion, policyHistory } from './policy-history.ts'
export { type Groups, type Share, Shares } from './shares.ts'
export { delayUnder, opensAt, type PolicyOfSite, policyOf, policySentence, sitesOf } from './site-policy.ts'
export { visitTimeOpensAt } from './visit-time.ts'
