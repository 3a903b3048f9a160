/** What the fetcher's parts need, with loopback opened and everything else as in production. */

import { readFileSync } from 'node:fs'
import { type Agent, readEgress } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { addressGuard } from '@decorum/politeness/admission'
import { systemClock } from '@decorum/protocol'
import {
  type Exchange,
  type ExchangeRequest,
  exchange,
  type Lookup,
  openConnections,
  openLookup,
} from '@decorum/sending/testing'
import { afterAll } from 'vitest'
import { agentsOf } from './agents.ts'

export const testCa = readFileSync(new URL('../certs/ca.pem', import.meta.url))

export { agentsOf } from './agents.ts'

export const [polite] = agentsOf().list as [Agent]
export const [nameless] = agentsOf({}).list as [Agent]

export function testConnections(
  options: {
    allow?: string[]
    ports?: string[]
    lookup?: Lookup
    trust?: boolean
    stops?: Pick<Ledger['stops'], 'why'>
    /** what EGRESS holds, for the agents of agentsOf() */
    egress?: object
  } = {},
) {
  const guard = addressGuard(options.allow ?? ['127.0.0.0/8', '::1/128'], options.ports ?? [])
  const lookup = options.lookup === undefined ? openLookup(systemClock) : openLookup(systemClock, [], options.lookup)
  const connections = openConnections({
    clock: systemClock,
    guard,
    lookup,
    stops: options.stops,
    ...(options.egress === undefined ? {} : { egress: readEgress(JSON.stringify(options.egress), ['decorum']) }),
    ...(options.trust ? { tls: { ca: testCa } } : {}),
  })
  afterAll(() => connections.close())
  return connections
}

/** One exchange with an origin, generous unless told otherwise. */
export function ask(
  connections: ReturnType<typeof testConnections>,
  origin: string,
  over: Partial<ExchangeRequest> & { agent?: Agent } = {},
): Promise<Exchange> {
  const { agent = polite, ...rest } = over
  return exchange({
    way: connections.lane(agent, origin),
    origin,
    path: '/',
    headers: ['user-agent', agent.userAgent],
    deadlineMs: 120_000,
    maxBytes: 1_000_000,
    lastCheck: () => undefined,
    confirm: () => undefined,
    keepBody: () => true,
    ...rest,
  })
}

export async function textOf(result: Exchange): Promise<string> {
  if (result.kind !== 'answered') throw new Error(`no answer: ${JSON.stringify(result)}`)
  const chunks: Uint8Array[] = []
  for await (const chunk of result.body.read()) chunks.push(chunk)
  return Buffer.concat(chunks).toString('latin1')
}
