/** For tests and benches: the parts that `ensureRedis` is made of, for servers that a test starts and kills itself. */

export { writeNote } from '@decorum/client/fleet-here'
export { findRedis, type RedisBinary } from './redis-binary.ts'
export { redisEnvironment } from './redis-environment.ts'
export { freePort, type RedisProcess, spawnRedis } from './redis-process.ts'
