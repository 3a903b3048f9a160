/**
 * Finds the fleet that runs for this user, and its Redis, so that a frontier needs no address. The code that starts such a Redis writes the
 * same files (packages/cli/src/local-redis). Start at `fleetAt`.
 */
export { dataFolder, FLEET_FILE, type FleetNote, fleetAt } from './fleet-here.ts'
export { ANSWER_MS, commandOf, openLine, type RedisAddress } from './redis-line.ts'
export { redisRunningOn, redisUrl, removeNote, replaceFile, writeNote } from './redis-note.ts'
