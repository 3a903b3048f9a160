/** How long a lane waits after each exchange, what decided it, and which lanes share a delay. Pure; start at `effectiveDelay`. */
export { type Delay, delayAfter, effectiveDelay, tokensOf } from './effective-delay.ts'
export { loadPaceGroups, type PaceClock, type PaceGroups } from './pace-groups.ts'
