/** What a process says of itself in the fleet's roll. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { About } from '@decorum/ledger'
import type { Following } from './follow.ts'

/** Of all packages and services: they are released together. */
export const { version: VERSION } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}
/** Names of settings; more are cut, for the roll is read once a second. */
const MOST_PENDING = 8

export function aboutThisProcess(following: Following, more: Pick<About, 'keepsPages' | 'pools'> = {}): About {
  const { version: config, pending } = following.now()
  const names = [...new Set(pending.map(({ setting }) => setting))].slice(0, MOST_PENDING)
  return { host: hostname(), pid: process.pid, version: VERSION, config, pending: names, ...more }
}
