/** A network that has forgotten a connection says nothing: no end, no answer. Redis is there for whoever connects anew. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { linkTo, type RedisLink } from '@decorum/ledger'
import { followWakes } from '@decorum/ledger/testing'
import { systemClock } from '@decorum/protocol'
import { type Cluster, Redis } from 'ioredis'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openLink } from '../storm/link.ts'
import { redisForTest, startRedis } from '../support/redis.ts'

const redis = await redisForTest()
const client = new Redis(redis.url)
afterAll(() => client.disconnect())
const SILENT_MS = 400

async function forgetful() {
  const network = await openLink(redis.port)
  onTestFinished(() => network.close())
  const linked = (away: 'fail' | 'wait'): RedisLink => {
    const link = linkTo(`redis://127.0.0.1:${network.port}`, { away, silentMs: SILENT_MS, retryMs: 20 })
    onTestFinished(() => link.disconnect())
    return link.on('error', () => {})
  }
  return { network, linked }
}

test('a command that waits for Redis is answered over a new connection', async () => {
  const { network, linked } = await forgetful()
  const link = linked('wait')
  await link.set('a', '1')
  network.hurt('forgotten')
  expect(await link.get('a')).toBe('1')
})

test('a command that does not wait fails, and the next ones are answered', async () => {
  const { network, linked } = await forgetful()
  const link = linked('fail')
  await expect.poll(() => link.set('b', '1').catch(() => '')).toBe('OK')
  network.hurt('forgotten')
  await expect(link.get('b')).rejects.toThrow()
  await expect.poll(() => link.get('b').catch(() => '')).toBe('1')
})

test('a command that blocks gets what comes later', async () => {
  const { network, linked } = await forgetful()
  const link = linked('wait') as Redis
  await link.ping()
  network.hurt('forgotten')
  const heard = link.xread('BLOCK', 100, 'STREAMS', 'later', '0')
  await client.xadd('later', '*', 'x', 'y')
  expect(await heard).toHaveLength(1)
})

test('after a failover that closes no connection, each goes over to the new master', async () => {
  const { network, linked } = await forgetful()
  const links = [linked('fail'), linked('wait')]
  const setThrough = (link: RedisLink, key: string) => link.set(key, '1').catch(() => '')
  for (const link of links) await expect.poll(() => setThrough(link, 'before')).toBe('OK')
  const scripted = linked('fail')
  const script = () => scripted.eval("return redis.call('SET', KEYS[1], '1')", 1, 's').catch(() => '')
  await expect.poll(script).toBe('OK')
  const next = await startRedis()
  onTestFinished(() => next.stop())
  network.leadTo(next.port)
  await client.replicaof('127.0.0.1', next.port) // the old master goes on as a replica
  onTestFinished(async () => void (await client.replicaof('NO', 'ONE')))
  for (const link of links) await expect.poll(() => setThrough(link, 'after')).toBe('OK')
  await expect.poll(script).toBe('OK')
  const found = new Redis(next.url)
  onTestFinished(() => found.disconnect())
  expect(await found.exists('after', 's')).toBe(2)
})

test('every connection has such a bound, longer than BullMQ blocks', () => {
  const one = linkTo('redis://127.0.0.1:1', { away: 'wait', lazyConnect: true }) as Redis
  const many = linkTo('redis://127.0.0.1:1,redis://127.0.0.1:2', { away: 'fail', lazyConnect: true }) as Cluster
  for (const { socketTimeout } of [one.options, many.options.redisOptions ?? {}]) {
    expect(socketTimeout).toBeGreaterThan(10_000)
    expect(socketTimeout).toBeLessThanOrEqual(20_000)
  }
})

test('a subscriber gets wake-ups that are published after its connection was dropped', async () => {
  const { network, linked } = await forgetful()
  const heard: string[] = []
  const wakes = followWakes(
    () => linked('wait'),
    ['bell'],
    (channel) => heard.push(channel),
    {
      deadline: { clock: systemClock, ms: 5_000 },
      againMs: 100,
    },
  )
  onTestFinished(() => wakes.close())
  await wakes.tried
  const rung = async (): Promise<number> => {
    await client.publish('bell', '')
    return heard.length
  }
  await expect.poll(rung).toBeGreaterThan(0)
  network.hurt('forgotten')
  const before = heard.length
  await expect.poll(rung).toBeGreaterThan(before)
})

test('a connection that only listens, and ends before Redis has answered its asking anew, ends nothing else', async () => {
  const { port, close, cut, asked } = await deafTo('subscribe')
  onTestFinished(close)
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const link = linkTo(`redis://127.0.0.1:${port}`, { away: 'wait', retryMs: 20 })
  const wakes = followWakes(
    () => link,
    ['bell'],
    () => {},
    { deadline: { clock: systemClock, ms: 5_000 }, againMs: 60_000 },
  )
  await wakes.tried
  cut()
  await asked()
  const ended = once(link, 'end')
  wakes.close()
  await ended
  await new Promise(setImmediate) // a rejection that nobody handles is told after the tick of its cause
  expect(unhandled).toEqual([])
})

/** The Redis of this file through a link that, once it has been cut, hides one command from it. */
async function deafTo(command: string) {
  const hidden = Promise.withResolvers<void>()
  let isDeaf = false
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const there = connect(redis.port, '127.0.0.1')
    for (const socket of [client, there]) sockets.add(socket.on('error', () => {}))
    there.on('data', (octets) => client.write(octets)).on('close', () => client.destroy())
    client
      .on('close', () => there.destroy())
      .on('data', (octets) => {
        if (isDeaf && octets.toString().includes(command)) hidden.resolve()
        else there.write(octets)
      })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    isDeaf = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close() {
      cut()
      server.close()
    },
    asked: () => hidden.promise,
  }
}
