/** Traces of permits and of the orders of pools. Those of gateways and fetchers: test/readme/readme.test.ts. */
import { expect, test } from 'vitest'
import { attribute, collector, type Told } from '../support/collector.ts'
import { LONG_LEASES } from './fleet.ts'
import { poolFleet } from './pool.ts'

const TRACE = 'a'.repeat(32)
const traceparent = `00-${TRACE}-${'b'.repeat(16)}-01`

test('one trace follows a URL of a pool from intake to the outcome that a worker reported, and another one a permit', async () => {
  const { url, spans } = await collector()
  const fleet = await poolFleet([{ name: 'site', robots: { body: '' } }], {
    env: { ...LONG_LEASES, OTEL_EXPORTER_OTLP_ENDPOINT: url },
  })
  const { site } = fleet.web.origins
  const page = `${site}/page`
  await fleet.enqueue([
    { id: 'traced', url: page, agent: 'poolbot', traceparent },
    { id: 'untraced', url: `${site}/other`, agent: 'poolbot' },
  ])
  await fleet.workUntil(['traced', 'untraced'])
  const asked = await fleet.ask(
    { url: `${site}/permit`, agent: 'journeybot', waitMs: 30_000 },
    { headers: { traceparent: traceparent.replaceAll('a', 'c') } },
  )
  expect(asked.status).toBe(201)
  await fleet.complete(asked.body.permit, { status: 200 })

  const ofUrl = (): (Told & { service: string })[] => spans.filter(({ traceId }) => traceId === TRACE)
  const told = ({ service, name, attributes }: Told & { service: string }): string =>
    `${service} ${name} ${attribute(attributes, 'decorum.kind') ?? ''}`.trim()
  await expect
    .poll(() => [...new Set(ofUrl().map(told))].sort()) // an order for which the worker comes too late is given again
    .toEqual([
      'decorum-fetcher decorum.fetch robots',
      'decorum-gateway decorum.order page',
      'decorum-gateway decorum.order robots',
      'decorum-gateway decorum.store',
      'decorum-permits decorum.fetch page',
    ])
  const byWorker = ofUrl().find(({ service }) => service === 'decorum-permits')
  const said = (key: string) => attribute(byWorker?.attributes ?? [], key)
  expect([said('decorum.id'), said('decorum.pool'), said('url.full')]).toEqual(['traced', 'browsers', page])
  expect([said('decorum.outcome'), said('http.response.status_code')]).toEqual(['fetched', 200])

  await expect.poll(() => spans.find(({ name }) => name === 'decorum.permit')?.traceId).toBe('c'.repeat(32))
  const permit = spans.find(({ name }) => name === 'decorum.permit')
  expect(attribute(permit?.attributes ?? [], 'decorum.decision')).toBe('granted')
  expect(spans.filter(({ name }) => name === 'decorum.permit')).toHaveLength(1)
})
