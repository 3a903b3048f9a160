/** Internal parts, for tests that check their cost or their memory against a bound; not for callers, and free to change. */
export { gunzip } from './inflate.ts'
export { stepsTaken } from './match.ts'
export { occurrencesIn } from './occurrences.ts'
export { Path, textOfPath } from './path.ts'
