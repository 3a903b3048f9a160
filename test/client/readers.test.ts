/** Several readers of one group: who counts as dead, and what becomes of what a reader held. */
import type { Delivery } from '@decorum/client'
import { claimFromDead } from '@decorum/client/inside'
import { keysOf } from '@decorum/ledger'
import { trimOutcomes } from '@decorum/ledger/testing'
import { Redis } from 'ioredis'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { readerOn, STREAM } from './support.ts'

const redis = await redisForTest()
const client = new Redis(redis.url)
afterAll(() => client.disconnect())
const NEVER = 1e8

beforeEach(() => client.flushall())

async function write(...ids: string[]): Promise<void> {
  for (const id of ids) await client.xadd(STREAM, '*', 'o', JSON.stringify({ id, kind: 'fetched' }))
}
const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `o${n}`)
const readAs = (name: string, count = 1) =>
  client.xreadgroup('GROUP', 'g', name, 'COUNT', count, 'STREAMS', STREAM, '>')
/** ms since Redis heard from a consumer of that name; undefined when there is none */
async function silenceOf(name: string): Promise<number | undefined> {
  const rows = (await client.xinfo('CONSUMERS', STREAM, 'g')) as (string | number)[][]
  const row = rows.find((one) => one[1] === name)
  return row && Number(row[row.indexOf('idle') + 1])
}
const held = async (name: string): Promise<number> => (await client.xpending(STREAM, 'g', '-', '+', 999, name)).length

async function drain(from: AsyncIterable<Delivery>, into: string[]): Promise<void> {
  for await (const { outcome, ack } of from) {
    into.push(outcome.id)
    await ack()
  }
}

test('a silent reader that wakes while others look for dead ones keeps what it is handed', async () => {
  await client.xgroup('CREATE', STREAM, 'g', '0', 'MKSTREAM')
  await client.xgroup('CREATECONSUMER', STREAM, 'g', 'slow')
  const ours = new Redis(redis.url)
  onTestFinished(() => ours.disconnect())
  // ready: the client's own question for INFO while it connects is not one of the commands that are counted
  await ours.ping()
  await expect.poll(() => silenceOf('slow')).toBeGreaterThan(100)
  await write('late')
  // It wakes as soon as we have looked and are about to do the next thing; at the latest when we are done.
  let wakes: Promise<unknown> | undefined
  let commands = 0
  const send = ours.sendCommand.bind(ours)
  ours.sendCommand = (command, stream) => {
    if (++commands === 1) return send(command, stream)
    wakes ??= readAs('slow')
    return wakes.then(() => send(command, stream))
  }
  await claimFromDead(ours, STREAM, 'g', 'me', 100)
  await (wakes ?? readAs('slow'))
  expect(commands, 'the look and what follows from it are one command').toBe(1)
  expect(await held('slow')).toBe(1)
})

test('a dead reader is removed when it holds nothing, and only then', async () => {
  await write('a')
  await client.xgroup('CREATE', STREAM, 'g', '0')
  await client.xgroup('CREATECONSUMER', STREAM, 'g', 'idle')
  await readAs('dead')
  await expect.poll(() => silenceOf('dead')).toBeGreaterThan(50)
  const taken = await claimFromDead(client, STREAM, 'g', 'me', 50)
  expect(taken.map(({ outcome }) => outcome?.id)).toEqual(['a'])
  expect([await silenceOf('idle'), await held('dead'), await held('me')]).toEqual([undefined, 0, 1])
  await expect
    .poll(async () => {
      await claimFromDead(client, STREAM, 'g', 'me', 50)
      return silenceOf('dead')
    })
    .toBeUndefined()
  expect(await held('me'), 'its own silence is not its death').toBe(1)
})

test('a reader that is slow over one outcome keeps the rest of its batch: a timer says that it lives', async () => {
  await write(...names(40))
  const patience = { deadAfterMs: 2_000, beatMs: 50, claimEveryMs: 50 }
  const slow = await readerOn(redis.url, 'slow', { patience })
  const bySlow: string[] = []
  const first = await slow.deliveries.next()
  if (!first.done) bySlow.push(first.value.outcome.id)
  // Until long after the time in which it would be dead, while another one looks all the time
  const [[id]] = (await client.xpending(STREAM, 'g', '-', '+', 1)) as [[string]]
  const taken: unknown[] = []
  await expect
    .poll(async () => {
      // Just after a sign of life: when this process stands still, so do its timer and whoever looks
      const silentMs = (await silenceOf('slow')) ?? Infinity
      if (silentMs < patience.deadAfterMs / 2)
        taken.push(...(await claimFromDead(client, STREAM, 'g', 'other', patience.deadAfterMs)))
      return (await client.xpending(STREAM, 'g', 'IDLE', 3_000, id, id, 1)).length
    })
    .toBe(1)
  expect([taken, await held('slow')]).toEqual([[], 40])
  await drain(slow.deliveries, bySlow)
  expect(bySlow).toEqual(names(40))
})

test('what another reader has taken over from a frozen one is not delivered by the first as well', async () => {
  await write(...names(400))
  const patience = { deadAfterMs: 400, beatMs: NEVER, claimEveryMs: 20 }
  const frozen = await readerOn(redis.url, 'frozen', { patience })
  const first: string[] = []
  const before = await frozen.deliveries.next()
  if (before.done) throw new Error('nothing came')
  first.push(before.value.outcome.id)
  await before.value.ack()
  const second: string[] = []
  const other = await readerOn(redis.url, 'other', { patience, wait: true })
  void drain(other.deliveries, second)
  await expect.poll(() => second.length).toBe(399)
  await drain(frozen.deliveries, first)
  expect([...first, ...second].sort()).toEqual(names(400).sort())
})

test('a frozen reader from whom nobody has taken anything goes on with its batch', async () => {
  await write(...names(300))
  const frozen = await readerOn(redis.url, 'frozen', {
    patience: { deadAfterMs: 60, beatMs: NEVER, claimEveryMs: NEVER },
  })
  const seen: string[] = []
  const before = await frozen.deliveries.next()
  if (!before.done) seen.push(before.value.outcome.id)
  await expect.poll(() => silenceOf('frozen')).toBeGreaterThan(100)
  await drain(frozen.deliveries, seen)
  expect(seen).toEqual(names(300))
})

test('entries without an outcome never keep a stream from being trimmed, whoever was given them', async () => {
  await client.xadd(STREAM, '*', 'x', 'y')
  await client.xadd(STREAM, '*', 'o', '{broken')
  await client.xgroup('CREATE', STREAM, 'g', '0')
  await readAs('dead', 2)
  await client.xadd(STREAM, '*', 'no', 'outcome')
  await write('a')
  await expect.poll(() => silenceOf('dead')).toBeGreaterThan(60)
  const living = await readerOn(redis.url, 'living', { patience: { deadAfterMs: 60, beatMs: 20, claimEveryMs: 0 } })
  const seen: string[] = []
  await drain(living.deliveries, seen)
  expect(seen).toEqual(['a'])
  await expect.poll(() => client.xpending(STREAM, 'g')).toEqual([0, null, null, null])
  await trimOutcomes(client, keysOf('{decorum:0}'))
  expect(await client.xlen(STREAM)).toBe(0)
})

test('what a lost connection of the same name was given comes without a restart, once, and nothing else comes twice', async () => {
  await write('acknowledged', 'held')
  const patience = { beatMs: NEVER, claimEveryMs: NEVER, rereadAfterMs: 500 }
  const { deliveries } = await readerOn(redis.url, 'me', { wait: true, patience })
  const next = async () => (await deliveries.next()).value as Delivery
  await (await next()).ack()
  const seen = [(await next()).outcome.id]
  const wakes = next() // it blocks now
  await expect.poll(() => silenceOf('me')).toBeGreaterThan(600)
  // As Redis does for a connection of which it has not heard that it has gone
  await client
    .multi()
    .xadd(STREAM, '*', 'o', JSON.stringify({ id: 'lost' }))
    .xreadgroup('GROUP', 'g', 'me', 'COUNT', 1, 'STREAMS', STREAM, '>')
    .exec()
  await write('wakes')
  seen.push((await wakes).outcome.id, (await next()).outcome.id)
  const last = next()
  await write('last')
  seen.push((await last).outcome.id)
  expect(seen).toEqual(['held', 'wakes', 'lost', 'last'])
})
