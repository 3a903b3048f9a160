/** Carries out the robots fetch of an order. The sink keeps each hop as a separate exchange, the last one with the conclusion. */
import type { Agent } from '@decorum/config'
import type { Order } from '@decorum/protocol'
import type { RobotsEvent } from '@decorum/robots'
import { type Fetched, KEEP_LEAST_MS, type Lease } from '@decorum/sending'
import { requestHead } from '@decorum/sending/bodies'
import { fetchRobots, type RobotsAnswer } from '@decorum/sending/robots'
import { type KeepTools, keep } from '../sink/keep.ts'
import type { Page } from '../sink/sink.ts'
import type { Tools } from '../tools.ts'

export async function fetchAndKeepRobots(order: Order, lease: Lease, tools: Tools): Promise<Fetched> {
  const { answer, refusal, ...fetched } = await fetchRobots(order, lease, tools)
  if (refusal !== undefined) tools.stats.refused(refusal)
  await keepHops(order.origin, answer, lease.agent, tools)
  return fetched
}

/** Keeps the exchanges of a robots fetch, and discards their bodies. */
async function keepHops(origin: string, { hops, event }: RobotsAnswer, agent: Agent, tools: KeepTools): Promise<void> {
  for (const [at, { url, answer, headers }] of hops.entries()) {
    if (tools.sink.keepsBodies) {
      const path = url.slice(url.indexOf('/', url.indexOf('//') + 2))
      const head = requestHead(url.slice(0, url.length - path.length), path, headers, answer.protocol)
      const page: Page = { kind: 'robots', url, agent: agent.name, requestHead: head, answer }
      if (at === hops.length - 1) page.note = noteOf(origin, event)
      await keep(page, KEEP_LEAST_MS, tools)
    }
    await answer.body.discard().catch(() => {}) // a temporary file that cannot be closed does no harm
  }
}

function noteOf(origin: string, event: RobotsEvent | undefined): Record<string, string> {
  const note: Record<string, string> = { 'robots-of': origin }
  if (event?.kind === 'answered') {
    note['robots-answer'] = `status ${event.status}`
    if (event.hash !== undefined) note['robots-rules'] = `sha256:${event.hash}` // of the decoded bytes, first 128 bits
  } else if (event?.kind === 'unanswered') note['robots-answer'] = `none: ${event.reason}`
  return note
}
