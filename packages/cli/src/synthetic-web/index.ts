/**
 * Sites on loopback that answer as a script says and record every request in the form of docs/audit.md, for the demo and the
 * tests. Start at `spawnWeb` (web-process.ts): it runs the sites (web.ts) in a separate process.
 */
export type { Answer, Script, Site } from './behaviour.ts'
export { now } from './clock.ts'
export { spawnWeb, type WebProcess } from './web-process.ts'
