/** For tests and benches: the parts that `ensureRedis` is made of, for servers that a test starts and kills itself. */
export { findRedis, type RedisBinary } from './redis-binary.ts'
export { redisEnvironment } from './redis-environment.ts'
export { writeNote } from './redis-note.ts'
export { freePort, type RedisProcess, spawnRedis } from './redis-process.ts'
