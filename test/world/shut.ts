/**
 * When nothing may be sent, for reasons that the auditor does not know of: an operator has paused a host or blocked an origin, Redis is away or holds
 * everything back, the robots.txt of a site has only failed so far, or an answer other than a 429 or 503 to a page asks to wait. Each stretch is no
 * longer than the gate was surely closed.
 */
import type { RequestLine } from '@decorum/audit'
import { hostOf, type Instant, isRedirect } from '@decorum/protocol'
import { type Answer, OF_OTHERS } from './sites.ts'
import { START } from './timeline.ts'

/** What is held back is sent no later than this (docs/gates.md, docs/permits.md); the way to the site and back from Redis is on top. */
const LATEST_MS = 1_000
/** The same where no call takes long and no process stands still: a grant that is older is confirmed before the first byte. */
const LATEST_AT_EASE_MS = 500
const WAY_MS = 25
/** The second 403 in a row closes an origin for so long at least. */
const TURNED_AWAY_MS = 5_000

type Gate = 'paused' | 'blocked' | 'no Redis' | 'asked to wait' | 'turned away' | 'visit-time'
type Stretch = { gate: Gate; where: string | undefined; from: Instant; to: Instant }

export class Shut {
  readonly #stretches: Stretch[] = []
  /** of answers, which reach Redis unless something goes wrong */
  readonly #asked: Stretch[] = []
  readonly #unruled: string[] = []
  /** origin → whether its robots.txt has been answered with rules, or with there being none */
  readonly #hasRules = new Map<string, boolean>()
  /** origin → the status of its latest answer, of those to the fleet */
  readonly #latest = new Map<string, number>()

  /** @param where  a host, an origin or a URL; undefined: everywhere. @param to  it is open again then, at the latest */
  begin(gate: Gate, where: string | undefined, from: Instant, to = Number.POSITIVE_INFINITY): void {
    this.#stretches.push({ gate, where, from, to })
  }

  /** It may be open from now on. @param gate  undefined: any that was closed by an operator, because Redis may have forgotten it */
  end(gate: Gate | undefined, where: string | undefined, now: Instant): void {
    for (const one of this.#stretches) {
      const isMeant = gate === undefined ? one.gate !== 'no Redis' : one.gate === gate && one.where === where
      if (isMeant) one.to = Math.min(one.to, now)
    }
  }

  /** A site has been asked, and answers so. @param ofFleet  by a fetcher, which tells Redis of it */
  asked(
    { origin, path, start }: Pick<RequestLine, 'origin' | 'path' | 'start'>,
    answer: Answer,
    ofFleet: boolean,
  ): void {
    const { status, headers = {}, serveMs } = answer
    const from = start + serveMs
    const before = this.#latest.get(origin)
    this.#latest.delete(origin)
    // For an agent whose pages workers fetch, too
    if (path === '/robots.txt' && status > 0 && status < 500) this.#hasRules.set(origin, true)
    if (!ofFleet) return
    this.#latest.set(origin, status)
    if (status === 403 && before === 403)
      this.#asked.push({ gate: 'turned away', where: origin, from, to: from + TURNED_AWAY_MS })
    const waitMs = 1_000 * Number(headers['retry-after'] ?? 0)
    const isFollowed = isRedirect(status) && headers.location !== undefined
    const where = isFollowed ? new URL(headers.location as string, origin + path).href : hostOf(origin)
    if (waitMs > 0) this.#asked.push({ gate: 'asked to wait', where, from, to: from + waitMs })
    if (path === '/robots.txt') {
      if (status >= 500) this.#hasRules.set(origin, this.#hasRules.get(origin) ?? false)
    } else if (this.#hasRules.get(origin) === false)
      this.#unruled.push(`${origin}${path} at ${inSeconds(start)} s, and its robots.txt has only failed`)
  }

  /** Requests that should not have been sent, in words. @param isAtEase  nothing has gone wrong in this run; operators may have been at work */
  broken(requests: readonly RequestLine[], isAtEase: boolean, fleet: string): string[] {
    const stretches = isAtEase ? [...this.#stretches, ...this.#asked] : this.#stretches
    return [
      ...this.#unruled,
      ...requests.flatMap(({ origin, path, start, agent }) => {
        // Who has a permit may send for a second
        const isOthers = agent !== fleet || path.includes(OF_OTHERS)
        const latest = (isAtEase && !isOthers ? LATEST_AT_EASE_MS : LATEST_MS) + WAY_MS
        const found = stretches.find(({ gate, where, from, to }) => {
          const isThere = where === undefined || [hostOf(origin), origin, origin + path].includes(where)
          return isThere && start > from + latest && start < to && !(gate === 'visit-time' && path === '/robots.txt')
        })
        return found === undefined
          ? []
          : [`${origin}${path} at ${inSeconds(start)} s, ${found.gate} since ${inSeconds(found.from)} s`]
      }),
    ]
  }
}

const inSeconds = (at: Instant): string => ((at - START) / 1_000).toFixed(3)
