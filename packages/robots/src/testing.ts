/** Inner parts, for tests that hold their cost or their memory against a bound; not for callers, and free to change. */
export { gunzip } from './inflate.ts'
export { stepsTaken } from './match.ts'
export { occurrencesIn } from './occurrences.ts'
export { Path, textOfPath } from './path.ts'
