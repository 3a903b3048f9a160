import { setTimeout as sleep } from 'node:timers/promises'
import { openFrontier } from '@decorum/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openLink, SLOW_MS } from '../storm/link.ts'
import { startRedis } from '../support/redis.ts'
import { permitFleet, sharedPermitFleet, TIMES, UA } from './fleet.ts'

/** The request under a permit, to its last byte. */
async function send(url: string): Promise<number> {
  const answer = await fetch(url, { headers: { 'user-agent': UA }, redirect: 'manual' })
  await answer.arrayBuffer()
  return answer.status
}

describe('before one fleet', () => {
  const shared = sharedPermitFleet({
    permits: 2,
    fetchers: 2,
    env: { PERMIT_MAX_MS: '10000', LEASE_MS: '6000', FETCH_DEADLINE_MS: '4000' },
  })

  test('beside stored URLs of the same lane permits take turns: neither waits for all of the others', async () => {
    const fleet = await shared([{ name: 'turns', robots: { body: '' } }])
    const { web, expectPolite } = fleet
    const frontier = await openFrontier({ redis: fleet.redis.url })
    const stored = Array.from({ length: 12 }, (_, n) => ({ id: `t${n}`, url: `${web.origins.turns}/stored-${n}` }))
    await frontier.enqueue(stored)
    await Promise.all(Array.from({ length: 8 }, (_, n) => fleet.fetch(`${web.origins.turns}/permit-${n}`)))
    const seen: string[] = []
    for await (const { outcome, ack } of frontier.outcomes({ group: 'turns' })) {
      seen.push(outcome.kind)
      await ack()
      if (seen.length === stored.length) break
    }
    await frontier.close()
    await expectPolite()
    const { requests } = await web.evidence()
    const order = requests
      .filter(({ path }) => path !== '/robots.txt')
      .toSorted((one, other) => one.start - other.start)
      .map(({ path }) => (path.startsWith('/permit') ? 'p' : 's'))
    const both = order.slice(0, order.lastIndexOf('p') + 1)
    // By turns, and again where the other side, on a busy machine, did not come in time. That turns alternate where both come in time
    // is shown with a clock that the test moves (test/ledger/model).
    const runs = both.join('').match(/p+|s+/g) ?? []
    const longest = Math.max(...runs.map((run) => run.length))
    expect(order.filter((one) => one === 'p')).toHaveLength(8)
    expect(longest, `in order ${order.join('')}`).toBeLessThan(stored.length - 1)
  })

  test('a holder that dies: the lane is closed for lease and quarantine, then others go on; its late word is 410', async () => {
    const { web, ask, complete, call, expectPolite } = await shared([{ name: 'dies', robots: { body: '' } }])
    const url = `${web.origins.dies}/1`
    const at = performance.now() // before the lease: its answer may lie unread
    const held = await ask({ url, waitMs: 20_000, leaseMs: 1_000 })
    expect(held).toMatchObject({ status: 201, body: { leaseMs: 1_000 } })
    await send(url)
    const next = await ask({ url, waitMs: 20_000 })
    // nobody knows when its exchange ended: lease, margin, quarantine and the delay are over
    expect(performance.now() - at).toBeGreaterThanOrEqual(1_000 + TIMES.quarantineMs)
    expect(next.status).toBe(201)
    expect(await complete(held.body.permit)).toMatchObject({ status: 410, body: { type: 'gone' } })
    expect((await call('PATCH', `/v1/permits/${held.body.permit}`, { leaseMs: 1_000 })).status).toBe(410)
    expect((await call('GET', `/v1/permits/${held.body.permit}`)).status).toBe(410)
    expect((await complete(next.body.permit)).status).toBe(200)
    await expectPolite()
  })

  test('a completion that comes twice is one; after DELETE it is 410; a permit of nobody is 404', async () => {
    const { web, ask, complete, call } = await shared([{ name: 'twice', robots: { body: '' } }])
    const url = `${web.origins.twice}/1`
    const one = await ask({ url, waitMs: 20_000 })
    await send(url)
    expect((await complete(one.body.permit, { status: 200 })).status).toBe(200)
    expect((await complete(one.body.permit, { status: 200 })).status).toBe(200)
    const two = await ask({ url, waitMs: 20_000 })
    expect((await complete(one.body.permit, { status: 429 })).status).toBe(200) // changes nothing
    expect((await call('GET', `/v1/permits/${two.body.permit}`)).status).toBe(200)
    expect(await call('DELETE', `/v1/permits/${two.body.permit}`)).toMatchObject({
      status: 200,
      body: { ended: 'unused' },
    })
    // Some clients call every request JSON.
    const json = { 'content-type': 'application/json' }
    expect((await call('DELETE', `/v1/permits/${two.body.permit}`, undefined, { headers: json })).status).toBe(200)
    expect((await complete(two.body.permit, { status: 429, retryAfter: '600' })).status).toBe(410)
    const forged = `${two.body.permit?.slice(0, 8)}AAAA${two.body.permit?.slice(12)}`
    for (const foreign of ['x', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', forged])
      expect(await complete(foreign), foreign).toMatchObject({ status: 404, body: { type: 'not-found' } })
    // the given-back lane rests like a used one, and goes on
    expect((await ask({ url, waitMs: 20_000 })).status).toBe(201)
  })

  test('extending lasts no longer than PERMIT_MAX_MS', async () => {
    const { web, ask, call } = await shared([{ name: 'long', robots: { body: '' } }])
    const url = `${web.origins.long}/1`
    const held = await ask({ url, waitMs: 20_000 })
    const at = performance.now()
    let last = 200
    let heldMs = 0
    while (last === 200) {
      await sleep(300)
      const answer = await call('PATCH', `/v1/permits/${held.body.permit}`, {})
      last = answer.status
      if (last === 200) heldMs = performance.now() - at
    }
    expect(last).toBe(410)
    expect(heldMs).toBeGreaterThan(Number(held.body.leaseMs)) // beyond its own lease
    expect((await ask({ url, waitMs: 20_000 })).status).toBe(201) // and the lane goes on
  })

  test('429 closes the lane for Retry-After, for stored URLs and permits alike', async () => {
    const fleet = await shared([{ name: 'slow', robots: { body: '' }, pages: [{ status: 429, retryAfter: '6' }, {}] }])
    const { web, ask, expectPolite } = fleet
    expect(await fleet.fetch(`${web.origins.slow}/1`)).toBe(429)
    const shut = await ask({ url: `${web.origins.slow}/2` })
    expect(shut).toMatchObject({ status: 200, body: { gate: 'back-off' } })
    expect(await fleet.fetch(`${web.origins.slow}/2`)).toBe(200)
    await expectPolite()
  })

  test("a Retry-After beside any other answer closes it as well; beside a redirect it is the caller's own", async () => {
    const fleet = await shared([
      { name: 'ill', robots: { body: '' }, pages: [{ status: 500, retryAfter: '6' }, {}] },
      { name: 'moved', robots: { body: '' } },
    ])
    const { web, ask, expectPolite } = fleet
    expect(await fleet.fetch(`${web.origins.ill}/1`)).toBe(500)
    expect(await ask({ url: `${web.origins.ill}/2` })).toMatchObject({ status: 200, body: { gate: 'back-off' } })
    const moved = await ask({ url: `${web.origins.moved}/1`, waitMs: 20_000 })
    await fleet.complete(moved.body.permit, { status: 302, retryAfter: '600' })
    expect((await ask({ url: `${web.origins.moved}/2`, waitMs: 20_000 })).status).toBe(201)
    expect(await fleet.fetch(`${web.origins.ill}/2`)).toBe(200)
    await expectPolite()
  })
})

test('an old completion, repeated to another process, closes the site no longer than one in time could', async () => {
  const token = { name: 'believed-shortly', token: 'x'.repeat(16), maxRetryAfterMs: 2_000 }
  const env = { PERMIT_MAX_MS: '1000', DECORUM_PERMIT_TOKENS: JSON.stringify([token]) }
  const { web, ask, complete } = await permitFleet([{ name: 'old', robots: { body: '' } }], { permits: 2, env })
  const url = `${web.origins.old}/1`
  const headers = { authorization: `Bearer ${token.token}` }
  const { permit } = (await ask({ url, waitMs: 20_000 }, { headers })).body
  expect((await complete(permit, { status: 200 }, { headers })).status).toBe(200)
  await sleep(4_000)
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
  for (const retryAfter of ['3600', inAnHour])
    expect((await complete(permit, { status: 429, retryAfter }, { headers, on: 1 })).status).toBe(410)
  expect((await ask({ url }, { headers })).body).not.toMatchObject({ gate: 'back-off' })
})

test('a grant or an extension that the ledger answers too late is none: 503, and then the lane goes on', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const link = await openLink(redis.port)
  onTestFinished(() => link.close())
  // What a holder is told counts from the answer, and the ledger's lease from before it: a tenth of the lease lies between them.
  const env = { LEASE_MS: '1600' }
  const url = `redis://127.0.0.1:${link.port}`
  const { web, ask, call, complete } = await permitFleet([{ name: 'late', robots: { body: '' } }], { env, redis, url })
  const at = `${web.origins.late}/1`
  const held = await ask({ url: at, waitMs: 20_000 })
  expect(held.status).toBe(201)
  link.hurt('slow')
  expect(await call('PATCH', `/v1/permits/${held.body.permit}`, {}, { away: true })).toMatchObject({ status: 503 })
  link.heal()
  await complete(held.body.permit, { status: 200 })
  link.hurt('slow')
  expect(await ask({ url: at, waitMs: 20_000 }, { away: true })).toMatchObject({
    status: 503,
    body: { type: 'ledger-away' },
  })
  link.heal()
  expect((await ask({ url: at, waitMs: 20_000 })).status).toBe(201)
})

test('what the ledger took for its answer is not there for sending any more', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const link = await openLink(redis.port)
  onTestFinished(() => link.close())
  const url = `redis://127.0.0.1:${link.port}`
  const env = { LEASE_MS: '90000' } // so that the answer is late, but not too late
  const { web, ask, complete } = await permitFleet([{ name: 'slow', robots: { body: '' } }], { env, redis, url })
  const at = `${web.origins.slow}/1`
  const first = await ask({ url: at, waitMs: 20_000 })
  expect(first.status).toBe(201)
  await complete(first.body.permit, { status: 200 })
  link.hurt('slow')
  const { status, body } = await ask({ url: at, waitMs: 20_000 })
  expect(status).toBe(201)
  expect(body.sendWithinMs).toBeLessThanOrEqual(1_000 - SLOW_MS)
})

test('two hundred callers of two permits processes for one lane: each has its turn, in the order in which they came to its process', async () => {
  const env = { DEFAULT_DELAY_MS: '10', LEASE_MS: '90000' } // the first permit is held until all of them are in line
  const fleet = await permitFleet([{ name: 'queue', robots: { body: '' } }], { env, permits: 2 })
  const { web, url: base, ask, complete } = fleet
  const first = await ask({ url: `${web.origins.queue}/0`, waitMs: 20_000 }) // robots.txt is known, the lane is taken
  const waiting = async (on: number): Promise<number> => {
    const metrics = await (await fetch(`${base(on)}/metrics`)).text()
    return Number(/^decorum_permits_waiting (\d+)$/m.exec(metrics)?.[1])
  }
  const granted: number[] = []
  const asked: Promise<void>[] = []
  for (let n = 0; n < 200; n++) {
    const on = n % 2
    asked.push(
      ask({ url: `${web.origins.queue}/${n}`, waitMs: 60_000 }, { on }).then(async ({ status, body }) => {
        if (status === 201) granted.push(n)
        await complete(body.permit, { status: 200 }, { on: n % 3 === 0 ? 1 - on : on }) // any process can end it
      }),
    )
    // One of each process is in line before the next two are sent.
    if (on === 1)
      await expect
        .poll(() => Promise.all([waiting(0), waiting(1)]), { interval: 5 })
        .toEqual([(n + 1) / 2, (n + 1) / 2])
  }
  await complete(first.body.permit, { status: 200 })
  await Promise.all(asked)
  expect(granted).toHaveLength(200)
  for (const on of [0, 1]) {
    const own = granted.filter((n) => n % 2 === on)
    expect(own, `of process ${on}`).toEqual(own.toSorted((one, other) => one - other))
  }
})
