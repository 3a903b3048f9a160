/**
 * What the sites see: a judge that knows nothing of the model either. It writes down each exchange that was granted and
 * fails when one comes too early, overlaps, or carries an old fence, whatever the ledger believes.
 */
import { SETTINGS } from './rules.ts'

type Visit = {
  startedAt: number
  until: number
  endedAt?: number
  owedMs: number
  fence: number
  before?: Visit | undefined
  /** the least delay of its agent binds it: it was known when the exchange ended, and the exchange was not another lane's */
  bound?: boolean
  isOthers: boolean
}

export type Site = {
  /** a lane was taken or entered under this fence */
  fence(lane: string, fence: number): void
  /** the bytes leave now. @param asks  the URL is a robots.txt */
  visit(lane: string, kind: string, fence: number, now: number, asks: boolean): void
  /** the bytes leave only now, after the permit was asked for again */
  sent(lane: string, fence: number, now: number): void
  /** the lease lasts until then, unless its holder ends it before */
  lasts(lane: string, fence: number, until: number): void
  /** the exchange ended well known to the ledger. @param of  the lane whose request it was, where that is another one */
  end(lane: string, fence: number, endedAt: number, owedMs: number, of?: string): void
  /** one more request under the same lease, sent at an instant; when the one before it ended, and what it owes by its sender */
  further(lane: string, fence: number, at: number, endedAt: number, saidMs: number, of?: string): void
  /** nothing was sent after all */
  unused(lane: string, fence: number): void
  /** the site asked for silence until then */
  shut(origin: string, until: number): void
  /** new rules ask this delay of an agent's lane: longer counts at once, for a silence that is running */
  delay(lane: string, delayMs: number, now: number): void
  /** the fleet's configuration has this least delay of an agent: longer counts at once, for a delay that is running */
  least(agent: string, delayMs: number): void
  /** the policies of sites that the ledger has */
  policies(list: [site: string, policy: { delayMs?: number | undefined; consent: boolean }][]): void
  /** Redis lost what it had not written down: back-off and delays that it forgot are the residual risk of docs/promises.md */
  /** @param byAll  and nobody is alive who knew: fences begin anew, and nobody holds an old one */
  lost(byAll?: boolean): void
  granted: number
}

export class RudeError extends Error {
  override readonly name = 'RudeError'
}

const originOf = (lane: string): string => lane.slice(lane.indexOf(' ') + 1)

export function openSite(): Site {
  const fences = new Map<string, number>()
  const visits = new Map<string, Visit>()
  const robotsFetches = new Map<string, Visit>()
  const silences = new Map<string, number>()
  const leasts = new Map<string, number>()
  let known = new Map<string, { delayMs?: number | undefined; consent: boolean }>()
  const rude = (what: string): never => {
    throw new RudeError(what)
  }
  /** When that exchange was over at the latest: a holder who says nothing ends with its lease. */
  const leastOf = (lane: string): number | undefined => leasts.get(lane.slice(0, lane.indexOf(' ')))
  /** The policy of a lane's site: of its host, or of the longest name above it. */
  const policyOf = (lane: string) => {
    const [host = '', ...above] = originOf(lane).startsWith('http')
      ? (new URL(originOf(lane)).hostname.match(/[^.]+/g) ?? []).map((_, at, labels) => labels.slice(at).join('.'))
      : []
    const names = [host, `domain:${host}`, ...above.flatMap((name) => [`*.${name}`, `domain:${name}`])]
    const name = names.find((one) => known.has(one))
    return name === undefined ? undefined : known.get(name)
  }
  /** What is owed after an exchange whose sender says so much: what the sites have agreed to takes its place. */
  const owedFor = (lanes: string[], saidMs: number): number => {
    const found = lanes.flatMap((lane) => policyOf(lane) ?? [])
    const longest = Math.max(0, ...found.map(({ delayMs = 0 }) => delayMs))
    return found.some(({ consent }) => consent) ? longest : Math.max(saidMs, longest)
  }
  const overAt = ({ until, endedAt, owedMs }: Visit): number => (endedAt === undefined ? until : endedAt + owedMs)
  const site: Site = {
    granted: 0,
    fence(lane, fence) {
      if (fence <= (fences.get(lane) ?? 0))
        rude(`the fence ${fence} of ${lane} does not rise above ${fences.get(lane)}`)
      fences.set(lane, fence)
    },
    visit(lane, kind, fence, now, asks) {
      site.granted++
      const before = visits.get(lane)
      if (before !== undefined && now < overAt(before) - 0.0015)
        rude(
          `${kind} of ${lane} at ${now}: ${before.endedAt === undefined ? 'overlaps' : 'too early after'} ${JSON.stringify(before)}`,
        )
      const least = leastOf(lane) ?? 0
      if (before?.bound === true && policyOf(lane)?.consent !== true && now < (before.endedAt ?? 0) + least - 0.0015)
        rude(`${kind} of ${lane} at ${now}: the least delay is ${least} after ${JSON.stringify(before)}`)
      const closedUntil = silences.get(originOf(lane)) ?? 0
      if (now < closedUntil - 0.0015) rude(`${kind} of ${lane} at ${now}: the site is shut until ${closedUntil}`)
      const until = now + SETTINGS.leaseMs
      const visit: Visit = {
        startedAt: now,
        until,
        owedMs: 0,
        fence,
        before: before && { ...before, before: undefined },
        isOthers: kind === 'pace-group',
      }
      visits.set(lane, visit)
      if (!asks) return
      const asked = robotsFetches.get(originOf(lane))
      if (asked !== undefined && asked.endedAt === undefined && now < asked.startedAt + SETTINGS.leaseMs)
        rude(`${lane} asks for robots.txt at ${now}: so does ${JSON.stringify(asked)}`)
      robotsFetches.set(originOf(lane), visit)
    },
    sent(lane, fence, now) {
      const visit = visits.get(lane)
      if (visit?.fence !== fence) rude(`${lane} sends at ${now}, under an old fence`)
      const closedUntil = silences.get(originOf(lane)) ?? 0
      if (now < closedUntil - 0.0015) rude(`${lane} sends at ${now}: the site is shut until ${closedUntil}`)
    },
    lasts(lane, fence, until) {
      const visit = visits.get(lane)
      if (visit?.fence === fence) visit.until = until
    },
    end(lane, fence, endedAt, saidMs, of) {
      const visit = visits.get(lane)
      if (visit?.fence !== fence) return
      const isGroup = !originOf(lane).startsWith('http')
      const owedMs = isGroup ? saidMs : owedFor(of === undefined ? [lane] : [lane, of], saidMs)
      Object.assign(visit, { endedAt, owedMs, bound: !visit.isOthers && leastOf(lane) !== undefined })
    },
    further(lane, fence, at, endedAt, saidMs, of) {
      const visit = visits.get(lane)
      if (visit?.fence !== fence) rude(`a further request of ${lane} at ${at}, under an old fence`)
      const isGroup = !originOf(lane).startsWith('http')
      const owedMs = isGroup ? saidMs : owedFor(of === undefined ? [lane] : [lane, of], saidMs)
      if (at < endedAt + owedMs - 0.0015)
        rude(`a further request of ${lane} at ${at}: ${owedMs} are owed after ${endedAt}`)
      const closedUntil = silences.get(originOf(lane)) ?? 0
      if (at < closedUntil - 0.0015)
        rude(`a further request of ${lane} at ${at}: the site is shut until ${closedUntil}`)
    },
    unused(lane, fence) {
      const visit = visits.get(lane)
      if (visit?.fence !== fence) return
      if (visit.before === undefined) visits.delete(lane)
      else visits.set(lane, visit.before)
    },
    shut: (origin, until) => void silences.set(origin, Math.max(silences.get(origin) ?? 0, until)),
    delay(lane, delayMs, now) {
      const visit = visits.get(lane)
      if (visit?.endedAt === undefined || now >= overAt(visit) || policyOf(lane)?.consent === true) return
      visit.owedMs = Math.max(visit.owedMs, delayMs)
    },
    least: (agent, delayMs) => void leasts.set(agent, delayMs),
    policies(list) {
      known = new Map(list)
    },
    lost(byAll = false) {
      if (byAll) fences.clear()
      silences.clear()
      leasts.clear()
      for (const visit of visits.values()) visit.bound = false
    },
  }
  return site
}
