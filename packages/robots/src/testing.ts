/** Inner parts, for tests that hold their cost or their memory against a bound; not for callers, and free to change. */
export { stepsTaken } from './match.ts'
export { Occurrences } from './occurrences.ts'
export { Path } from './path.ts'
