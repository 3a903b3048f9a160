/**
 * A Redis for a machine that has none running: found, fetched, started and supervised. Start at `ensureRedis`
 * (redis-server.ts). The steps of a start: redis-binary.ts finds a program (redis-package.ts fetches one), keep-redis.ts
 * forks a guardian process (redis-guardian.ts), and the guardian runs the server (redis-process.ts).
 */

export { dataFolder, fleetAt } from '@decorum/client/fleet-here'
export { cacheFolder } from './cache-folder.ts'
export { holdName } from './kernel-name.ts'
export { makeFolder, privateFolder, safeFolder } from './make-folder.ts'
export { openMeetingPlace } from './meeting-place.ts'
export { freePort } from './redis-process.ts'
export { type EnsureRedisOptions, ensureRedis, type Meeting } from './redis-server.ts'
export type { RunningRedis } from './running-redis.ts'
