/** For tests and benches: the parts that `ensureRedis` is made of, for servers that a test starts and kills itself. */
export { findRedis, type RedisBinary, redisEnvironment } from './redis-binary.ts'
export { writeNote } from './redis-note.ts'
export { freePort, type RedisProcess, spawnRedis } from './redis-process.ts'
