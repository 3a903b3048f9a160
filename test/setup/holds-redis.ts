/** A parent for `embedded-redis.test.ts`: holds an embedded Redis on argv[2], says where, and stays until killed. */
import { ensureRedis } from '@decorum/cli/local-redis'

process.on('SIGINT', () => console.log(JSON.stringify({ heard: 'SIGINT' })))
setInterval(() => {}, 60_000) // ensureRedis alone keeps no process alive
const log = (line: string) => console.log(JSON.stringify({ log: line }))
try {
  const dataDir = process.argv[2]
  const { url, pid } = await ensureRedis({ ...(dataDir ? { dataDir } : {}), log })
  console.log(JSON.stringify({ url, pid }))
} catch (error) {
  console.log(JSON.stringify({ error: error instanceof Error ? error.message : 'unknown' }))
}
