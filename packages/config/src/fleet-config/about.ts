/** The description of itself that a process announces to the fleet. */
import { hostname } from 'node:os'
import type { About } from '@decorum/ledger'
import { readBuild } from './build.ts'
import type { Following } from './follow.ts'

export const BUILD = readBuild()
export const VERSION = BUILD.version

/** Maximum number of pending settings that an announcement names: it is read once a second, and should be short. */
const MOST_PENDING = 8

export function aboutThisProcess(
  following: Following,
  more: Pick<About, 'keepsPages' | 'pools' | 'passing'> = {},
): About {
  const { version: config, pending } = following.now()
  const names = [...new Set(pending.map(({ setting }) => setting))].slice(0, MOST_PENDING)
  return { host: hostname(), pid: process.pid, ...BUILD, config, pending: names, ...more }
}
