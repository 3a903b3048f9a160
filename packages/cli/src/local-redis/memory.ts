/** How much memory a Redis may use. */
import { totalmem } from 'node:os'

/** Of the machine's memory; the rest is for the machine, and for the copy of changed pages while Redis rewrites its file. */
export const REDIS_SHARE = 0.7

/** For the Redis of this machine or container, in bytes: a full one refuses URLs, while the kernel would end one without a limit. */
export const maxMemory = (): number =>
  Math.floor(REDIS_SHARE * Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY))
