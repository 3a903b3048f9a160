/** Idempotency-Key: a caller that lost an answer asks again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { EVERYTHING, openLedger } from '@decorum/ledger'
import { expect, onTestFinished, test } from 'vitest'
import { LONG_LEASES, sharedPermitFleet, TIMES } from './fleet.ts'

const shared = sharedPermitFleet({ env: LONG_LEASES })
const under = (key: string, signal?: AbortSignal) => ({
  headers: { 'idempotency-key': key },
  ...(signal === undefined ? {} : { signal }),
})

test('the same permit is answered with what is left of its lease', async () => {
  const { web, ask, call } = await shared([{ name: 'left', robots: { body: '' } }])
  const body = { url: `${web.origins.left}/1`, waitMs: 20_000 }
  const first = await ask(body, under('left'))
  expect(first.status).toBe(201)
  const leaseMs = Number(first.body.leaseMs)
  const answeredAt = performance.now()
  await sleep(1_500)
  const passedMs = performance.now() - answeredAt
  const again = await ask(body, under('left'))
  expect(again).toMatchObject({ status: 201, body: { permit: first.body.permit } })
  expect(again.body.leaseMs).toBeLessThanOrEqual(leaseMs - passedMs + 500)
  expect(again.body.sendWithinMs).toBeLessThanOrEqual(Number(again.body.leaseMs))
  await call('PATCH', `/v1/permits/${first.body.permit}`, { leaseMs: 500 })
  const shorter = await ask(body, under('left'))
  expect(shorter.body.leaseMs ?? 0, 'the lease as the ledger has it').toBeLessThanOrEqual(500)
})

test('after the end of its permit a key gives no other one', async () => {
  const { web, ask, complete } = await shared([{ name: 'ended', robots: { body: '' } }])
  const body = { url: `${web.origins.ended}/1`, waitMs: 20_000 }
  const first = await ask(body, under('ended'))
  expect(first.status).toBe(201)
  await complete(first.body.permit, { status: 429, retryAfter: '1' })
  expect(await ask(body, under('ended'))).toMatchObject({ status: 410, body: { type: 'gone' } })
})

test('a gate that has closed since holds the same permit as any other, until it opens', async () => {
  const { web, ask, redis } = await shared([{ name: 'stopped', robots: { body: '' } }])
  const ledger = await openLedger({
    redis: redis.url,
    partitions: 1,
    leaseMs: TIMES.leaseMs,
    quarantineMs: TIMES.quarantineMs,
  })
  onTestFinished(() => ledger.close())
  const body = { url: `${web.origins.stopped}/1`, waitMs: 20_000 }
  const first = await ask(body, under('stopped'))
  expect(first.status).toBe(201)
  await ledger.stop({ names: [EVERYTHING], by: 'ann', reason: 'they wrote to us' })
  const during = await ask(body, under('stopped'))
  await ledger.lift({ names: [EVERYTHING], by: 'ann', reason: '' })
  expect(during).toMatchObject({ status: 200, body: { decision: 'wait', gate: 'stopped' } })
  expect(await ask(body, under('stopped'))).toMatchObject({ status: 201, body: { permit: first.body.permit } })
})

test('the end of the connection that came first ends nothing while another one waits under the key', async () => {
  const { web, ask, complete, expectPolite } = await shared([{ name: 'late', robots: { body: '' } }])
  const held = await ask({ url: `${web.origins.late}/0`, waitMs: 20_000 })
  expect(held.status).toBe(201)
  const closing = new AbortController()
  const body = { url: `${web.origins.late}/1`, waitMs: 20_000 }
  const first = ask(body, under('late', closing.signal)).catch(() => 'closed')
  await sleep(200)
  const second = ask(body, under('late'))
  await sleep(200)
  closing.abort()
  expect(await first).toBe('closed')
  await sleep(200)
  await complete(held.body.permit, { status: 200 })
  expect(await second).toMatchObject({ status: 201, body: { url: body.url } })
  await expectPolite()
})

test('when every connection under a key has closed, its place in line goes, and the next one begins anew', async () => {
  const { web, ask, complete } = await shared([{ name: 'none', robots: { body: '' } }])
  const held = await ask({ url: `${web.origins.none}/0`, waitMs: 20_000 })
  expect(held.status).toBe(201)
  const closing = new AbortController()
  const body = { url: `${web.origins.none}/1`, waitMs: 20_000 }
  const gone = [1, 2].map(() => ask(body, under('none', closing.signal)).catch(() => 'closed'))
  await sleep(200)
  closing.abort()
  expect(await Promise.all(gone)).toEqual(['closed', 'closed'])
  await complete(held.body.permit, { status: 200 })
  const other = await ask({ url: `${web.origins.none}/2`, waitMs: 20_000 })
  expect(other.status, 'no permit was granted to nobody').toBe(201)
  await complete(other.body.permit, { status: 200 })
  expect((await ask(body, under('none'))).status).toBe(201)
})
