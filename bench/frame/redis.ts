/** A Redis of the bench's own (append-only file, synced each second, as in production), and what it has spent. */
import { ensureRedis } from '@decorum/cli/local-redis'
import { Redis } from 'ioredis'

export type BenchRedis = {
  url: string
  /** a plain connection for counting */
  client: Redis
  /** CPU of the server so far, µs: all its threads, user and system */
  cpuMicros(): Promise<number>
  /** what is stored, with the tables that find it; without the buffers of connections and of the append-only file */
  memoryBytes(): Promise<number>
  stop(): Promise<void>
}

/** Starts an embedded server on loopback with a folder of its own; both are gone after `stop`. */
export async function benchRedis(): Promise<BenchRedis> {
  const server = await ensureRedis({ log: () => undefined })
  const client = new Redis(server.url)
  await client.config('SET', 'slowlog-log-slower-than', -1) // its entries would be weighed as data
  const info = async (section: string, name: string): Promise<number> => {
    const text = await client.info(section)
    const value = new RegExp(`^${name}:(\\S+)`, 'm').exec(text)?.[1]
    if (value === undefined) throw new Error(`INFO ${section} has no ${name}`)
    return Number(value)
  }
  return {
    url: server.url,
    client,
    async cpuMicros() {
      // The kernel's getrusage through Redis: the figures of /proc/<pid>/stat without its ticks of 10 ms.
      return ((await info('cpu', 'used_cpu_user')) + (await info('cpu', 'used_cpu_sys'))) * 1e6
    },
    async memoryBytes() {
      const [used = 0, ...buffers] = await Promise.all(
        ['used_memory', 'mem_clients_normal', 'mem_aof_buffer'].map((name) => info('memory', name)),
      )
      return buffers.reduce((rest, bytes) => rest - bytes, used)
    },
    async stop() {
      client.disconnect()
      await server.stop()
    },
  }
}
