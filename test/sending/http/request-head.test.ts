/** What a site is sent of the shape that a frontier gave a request, and what stays inside the fleet. */
import { loadAgents } from '@decorum/config'
import { headersFor } from '@decorum/sending'
import { expect, test } from 'vitest'

test('the trace of a candidate, its digest and its limits are not sent to the site', () => {
  const { list } = loadAgents({
    agents: undefined,
    contact: 'a@example.com',
    defaultDelayMs: 1_000,
    maxDelayMs: 10_000,
  })
  const [agent] = list
  if (agent === undefined) throw new Error('no agent')
  const shape = {
    headers: { 'Accept-Language': 'de' },
    ifNoneMatch: '"a"',
    knownDigest: 'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ',
    maxBytes: 1,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  }
  expect(headersFor(agent, shape, 'gzip').map(([name]) => name)).toEqual([
    'user-agent',
    'accept',
    'accept-encoding',
    'accept-language',
    'if-none-match',
  ])
})
