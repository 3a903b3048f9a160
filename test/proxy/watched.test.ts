/** What those who watch a fleet see of its proxies: who goes through, in the roll and on the console's page; and spans of traced requests. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { main as startConsole } from '@decorum/console'
import { expect, onTestFinished, test } from 'vitest'
import { get, sharedProxyFleet } from './fleet.ts'

const TOKEN = 'a-token-of-this-test-02'
const TRACE = '0af7651916cd43dd8448eb211c80319c'
let collected = ''
const collector = createServer((request, response) => {
  request.on('data', (piece) => (collected += piece))
  request.once('end', () => response.end('{}'))
}).listen(0, '127.0.0.1')
await new Promise((resolve) => collector.once('listening', resolve))
collector.unref()

const env = {
  DECORUM_PERMIT_TOKENS: JSON.stringify([{ name: 'shop', token: TOKEN, crawls: ['spring'] }]),
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
}
const fleet = sharedProxyFleet({ env })

test('the roll of the fleet and the page of the console say who goes through; a traced request has a span', async () => {
  const { web, proxy, redis } = await fleet([{ name: 'one', robots: { body: 'User-agent: *\nDisallow: /no\n' } }])
  const headers = {
    'proxy-authorization': `Basic ${Buffer.from(`journeybot+spring:${TOKEN}`).toString('base64')}`,
    traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
  }
  expect((await get(proxy(), `${web.origins.one}/page`, { headers })).status).toBe(200)
  expect((await get(proxy(), `${web.origins.one}/no`, { headers })).status).toBe(403)
  const board = await startConsole({ REDIS_URL: redis.url, PORT: '0', LOG_LEVEL: 'silent' })
  onTestFinished(() => board.stop())
  const read = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${board.port}${path}`)).text()
  const whose = 'journeybot, crawl spring, token shop: 0 wait, 1 sent, 1 refused'
  await expect.poll(() => read('/fleet'), { timeout: 60_000 }).toContain(whose)
  const { members } = JSON.parse(await read('/v1/fleet')) as { members: { role: string; about: object }[] }
  expect(members.find(({ role }) => role === 'proxy')?.about).toMatchObject({
    passing: [{ agent: 'journeybot', crawl: 'spring', token: 'shop', waiting: 0, sent: 1, refused: 1 }],
  })
  await expect.poll(() => collected, { timeout: 60_000 }).toContain('"disallowed"')
  expect(collected).toContain('"name":"decorum.proxy"')
  expect(collected).toContain(TRACE)
  expect(collected).not.toContain(TOKEN)
})
