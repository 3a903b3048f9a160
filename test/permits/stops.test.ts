/** An emergency stop reaches crawlers that fetch by themselves: no permit is granted, and one in hand is told. */
import { EVERYTHING, openLedger } from '@decorum/ledger'
import { expect, onTestFinished, test } from 'vitest'
import { permitFleet } from './fleet.ts'

test('while everything is stopped no permit is granted and one in hand is told; once it is lifted they are granted again', async () => {
  const fleet = await permitFleet([
    { name: 'site', robots: { body: '' } },
    { name: 'other', robots: { body: '' } },
  ])
  const ledger = await openLedger({ redis: fleet.redis.url, partitions: 1, leaseMs: 2_500, quarantineMs: 500 })
  onTestFinished(() => ledger.close())
  const [url, other] = [`${fleet.web.origins.site}/page`, `${fleet.web.origins.other}/page`]
  expect([await fleet.fetch(url), await fleet.fetch(other)]).toEqual([200, 200])
  let held = await fleet.ask({ url, waitMs: 2_000 })
  while (held.status === 200) held = await fleet.ask({ url, waitMs: 2_000 })
  expect(held.status).toBe(201)

  await ledger.stop({ names: [EVERYTHING], by: 'ann', reason: 'they wrote to us' })
  expect((await fleet.call('GET', `/v1/permits/${held.body.permit}`)).body).toMatchObject({ stop: 'stopped' })
  await fleet.complete(held.body.permit, { status: 200 })
  const during = await fleet.ask({ url: other, waitMs: 300 })
  expect(during).toMatchObject({ status: 200, body: { decision: 'wait', gate: 'stopped' } })

  await ledger.lift({ names: [EVERYTHING], by: 'ann', reason: '' })
  expect(await fleet.fetch(other)).toBe(200)
})
