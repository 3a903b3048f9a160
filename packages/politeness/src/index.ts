/**
 * Computes how long a lane waits after each exchange, the source of that delay, and which lanes share a delay. Everything in these files is
 * pure, and no other code computes a delay. Start at `effectiveDelay` (the delay of an agent under given rules). `delayOwed` computes the
 * delay of a lane from the ledger's facts, `loadPaceGroups` reads which lanes share a delay, and `Shares` distributes slots. admission/,
 * which reads the ledger and has its own entry, decides whether a URL may be fetched at all.
 */
export { type DelayOwed, delayOwed, delaySentence } from './delay-owed.ts'
export { type Delay, delayAfter, delayByRules, effectiveDelay, tokensOf } from './effective-delay.ts'
export { loadPaceGroups, type PaceGroups, type PaceLanes } from './pace-groups.ts'
export { type PolicyVersion, policyHistory } from './policy-history.ts'
export { type Groups, type Share, Shares } from './shares.ts'
export { delayUnder, opensAt, type PolicyOfSite, policyOf, policySentence, sitesOf } from './site-policy.ts'
export { visitTimeOpensAt } from './visit-time.ts'
