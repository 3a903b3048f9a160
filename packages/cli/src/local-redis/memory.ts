/** How much memory a Redis may use. */
import { totalmem } from 'node:os'

/** Share of the machine's memory; the rest is for the system, and for copies of changed pages while Redis rewrites its file. */
export const REDIS_SHARE = 0.7

/** Limit for Redis on this machine or in this container, bytes. At the limit Redis refuses URLs; without one the kernel would kill it. */
export const maxMemory = (): number =>
  Math.floor(REDIS_SHARE * Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY))
