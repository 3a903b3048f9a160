/**
 * A client's request for a robots.txt: answered from the fleet's copy, without a request to the site. If there is no copy yet, the fleet
 * fetches it under the lane; the answer comes before the shortest time-out of known crawlers, because several treat a robots.txt that hangs
 * as permission to fetch everything (colly gives up after 10 s, crawler4j after 20).
 */
import { askRobots, type GrantingTools, Problem, unreachableFor, type Wish } from '@decorum/sending/granting'
import type { Reply } from './message.ts'
import { refuse } from './refuse.ts'

const WITHIN_MS = 8_000
const LOOK_MS = { first: 25, last: 250 }

/** @throws Problem · LedgerUnavailableError */
export async function answerRobots(
  wish: Wish,
  isHead: boolean,
  reply: Reply,
  tools: GrantingTools,
): Promise<'robots' | 'robots-unknown'> {
  const { agent, origin } = wish
  const { clock } = tools.ledger
  const begun = clock.monotonic()
  let why = 'it is being fetched'
  for (let ms = LOOK_MS.first; !reply.destroyed; ms = Math.min(LOOK_MS.last, ms * 1.5)) {
    const file = await tools.origins.file(agent, origin)
    if (file.kind !== 'unknown') {
      const body = file.kind === 'file' ? file.bytes : Buffer.alloc(0)
      const age = String(Math.max(0, Math.floor(file.ageMs / 1_000)))
      const headers = ['content-type', 'text/plain', 'content-length', String(body.length), 'age', age]
      reply.head(file.kind === 'file' ? 200 : file.status, '', headers, true)
      reply.end(isHead ? undefined : body)
      return 'robots'
    }
    const { judgement } = file.judged
    const unreachable = unreachableFor(file.judged, wish, tools)
    if (unreachable !== undefined) throw unreachable
    if (judgement.kind === 'wait' && judgement.why === 'unreachable') {
      why = 'it is unreachable, so nothing of this site is requested'
      break
    }
    if (judgement.kind === 'ask') {
      const asked = await askRobots(wish, file.judged, tools)
      if (asked instanceof Problem) throw asked
      if (asked !== 'rules-changed' && asked.kind === 'wait') why = asked.detail ?? asked.gate
    }
    if (clock.monotonic() - begun + ms > WITHIN_MS) break
    await clock.sleep(ms)
  }
  const retryAfterMs = WITHIN_MS
  refuse(reply, {
    status: 503,
    type: 'robots-unknown',
    error: 'destination_unavailable',
    detail: `robots.txt: ${why}`,
    more: { retryAfterMs },
  })
  return 'robots-unknown'
}
