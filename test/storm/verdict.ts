/**
 * Judges a storm from three books: the sites' record, the frontier's, and the list of faults. What cannot be told apart
 * from a broken promise is one. Pure.
 */

import { type Evidence, judgeRecord, type Report, type RequestLine, type Violation } from '@decorum/audit'
import { meaningOf } from '@decorum/protocol'
import { parseRetryAfter } from '@decorum/robots'
import { LAST_WORD_MS } from '@decorum/sending/testing'
import { type Again, extraRequests } from './again.ts'
import type { Book } from './book.ts'
import type { ConfigChange } from './config-changes.ts'
import type { FaultLog } from './faults.ts'
import { judgedBy, LIAR, type Times } from './manners.ts'
import { AGAIN } from './proxied.ts'
import { keptWaiting, longestNear, type OfOne, ON_ITS_WAY_MS, outlasted, type Stall, withoutOwn } from './stalls.ts'

export type StormFacts = {
  times: Times
  /** requests that one fetcher may have out at once: all of them may come again when it dies */
  slots: number
  evidence: Evidence
  faults: FaultLog
  book: Pick<Book, 'accepted' | 'outcomes' | 'unsure' | 'redelivered'>
  /** ids that Redis still holds */
  stored: Set<string>
  /** when the recording process itself was kept from running: others of this machine were as well */
  stalls: readonly Stall[]
  /** of each life of a process: from its start until it was ready, or had ended */
  starts: readonly OfOne[]
  /** sites that break off by themselves: asked again by rule */
  breaksOff: (origin: string) => boolean
}

export type Cause = 'kill' | 'freeze' | 'redis' | 'link'

export type Verdict = {
  report: Report
  /** promises broken, in words; empty: none */
  broken: string[]
  /** what came back later than promised, in words: figures of time, which `npm run storm` judges and no test does */
  late: string[]
  violations: Violation[]
  /** overlaps with an exchange that a frozen fetcher or proxy held open (docs/promises.md: residual) */
  residual: Violation[]
  /** those exchanges */
  heldOpen: RequestLine[]
  /** requests that came once more, by what had happened to the first */
  extra: Record<Cause, number>
  /** requests of each change of the configuration to a longer delay that were judged by it */
  underLongerDelay: number[]
  /** of the death that cost most */
  mostPerDeath: number
  /** of lanes whose fetcher was killed: kill → next request, ms, ascending */
  backMs: number[]
  /** of each Redis restart: end of the hold → first request, ms */
  afterHoldMs: number[]
  /** Redis restarts near which the machine stood still for so long that no request was for certain too early */
  unjudgedHolds: number
  lost: string[]
  lostWithTail: string[]
  doubled: string[]
  doubledWithTail: string[]
  phantoms: string[]
  accepted: number
  outcomes: number
  stored: number
}

/** From the last byte until the ledger knows, beside the longest stall near it. */
const SETTLED_MS = 1_000
const AFTER_HOLD_MS = 5_000
const BACK_SLACK_MS = 5_000

export function judgeStorm(facts: StormFacts): Verdict {
  const { times, slots, evidence, book, stored, breaksOff } = facts
  const stalls = withoutOwn(facts.stalls, [...facts.faults.freezes, ...facts.starts])
  const faults = { ...facts.faults, freezes: [...facts.faults.freezes, ...asFreezes(stalls, times)] }
  const settledMs = ({ start, end }: RequestLine): number => SETTLED_MS + longestNear(stalls, start, end)
  const report = judgeRecord(evidence, judgedBy(times))
  const { requests } = evidence
  const broken: string[] = []

  const isHop = ({ path }: RequestLine): boolean => path === '/rules.txt'
  const broke = (line: RequestLine): boolean => line.status === 0 && breaksOff(line.origin)
  const extras = extraRequests(
    requests,
    times.deadlineMs,
    (line) => isHop(line) || broke(line) || line.path.startsWith(AGAIN),
  )
  const extra: Verdict['extra'] = { kill: 0, freeze: 0, redis: 0, link: 0 }
  const unexplained: Again[] = []
  const perDeath = new Map<number, number>()
  const back: { ms: number; died: boolean }[] = []
  const hasRoom = (kill: { at: number }): boolean => (perDeath.get(kill.at) ?? 0) < slots
  const knownBy = ({ first }: Again): number => first.end + settledMs(first)
  for (const again of extras.toSorted((a, b) => knownBy(a) - knownBy(b))) {
    const { first } = again
    const about = settledMs(first)
    // On a busy machine several deaths may explain it, or something else: deaths that explain as many as they can already come last.
    const cause =
      causeOf(first, { ...faults, kills: faults.kills.filter(hasRoom) }, about) ??
      (outlasted(first, times, stalls) ? 'freeze' : causeOf(first, faults, about))
    if (cause === undefined) unexplained.push(again)
    else extra[cause]++
    if (cause !== 'kill') continue
    const kills = faults.kills.filter(({ role }) => role === 'fetcher').map(({ at }) => ({ at, until: at }))
    const kill = hitBy(first, kills.filter(hasRoom), about) ?? hitBy(first, kills, about)
    if (kill !== undefined) perDeath.set(kill.at, (perDeath.get(kill.at) ?? 0) + 1)
    const until = again.second.start
    const disturbed = faults.outages.some(
      ({ killedAt, backAt }) => killedAt < until && backAt + holdOf(times) > (kill?.at ?? until),
    )
    if (kill !== undefined && !disturbed)
      back.push({ ms: until - kill.at, died: diedBetween(kill.at + holdOf(times), until, faults) })
  }
  for (const { origin, path, first, second } of unexplained)
    broken.push(
      `extra request: ${origin}${path} at ${at(second.start)} after ${first.status} at ${at(first.start)}, no fault in between`,
    )

  const violations: Violation[] = []
  const residual: Violation[] = []
  const heldOpen = new Set<RequestLine>()
  const robots = Map.groupBy(
    requests.filter(({ path }) => path === '/robots.txt'),
    ({ origin }) => origin,
  )
  // An asker that died before it could tell: an extra request like any other.
  const whyUntold = (line: RequestLine | undefined): Cause | undefined => {
    const about = holdOf(times) + longestNear(stalls, line?.start ?? 0, line?.end)
    return line && (causeOf(line, faults, about) ?? (outlasted(line, times, stalls) ? 'freeze' : undefined))
  }
  const whyUnheard = (violation: Violation): Cause | undefined => {
    const answers = requests.filter((line) => asksToWait(line, violation))
    const causes = answers.map((line) => unheard(line, violation.at, faults, times, stalls))
    return causes.includes(undefined) ? undefined : causes[0]
  }
  for (const violation of report.examples) {
    if (violation.agent === LIAR) continue // it said that its exchange had ended, and was believed
    // Whoever heard the answer could not tell of it: the requests that follow are extra requests like any other.
    const untold =
      violation.offence === 'robots-too-often'
        ? whyUntold(robots.get(violation.origin)?.findLast(({ start }) => start < violation.at))
        : violation.offence === 'in-back-off'
          ? whyUnheard(violation)
          : undefined
    if (untold !== undefined) {
      extra[untold]++
      continue
    }
    const open =
      violation.offence === 'overlap' || violation.offence === 'robots-overlap' || violation.offence === 'short-delay'
    const held = open ? heldOpenByFrozen(violation, requests, faults, times) : undefined
    if (held !== undefined) {
      residual.push(violation)
      heldOpen.add(held)
    } else violations.push(violation)
  }
  for (const { offence, origin, path, because, at: when } of violations)
    broken.push(`${offence}: ${origin}${path} at ${at(when)}: ${because}`)

  const changes = faults.configs.map((change) => {
    const { judged, short } = judgeChange(change, { ...facts, faults, stalls }, report.tolerance)
    for (const { line, gapMs } of short)
      broken.push(
        `too early for the configuration: ${line.origin}${line.path} at ${at(line.start)}, ${Math.round(gapMs)} ms after the exchange before it, while ${change.delayMs} ms were in force`,
      )
    return judged
  })

  const tails = faults.outages.filter(({ lostSince, killedAt }) => lostSince < killedAt)
  const { lost, lostWithTail, doubled, doubledWithTail, phantoms, both } = reconcile(book, stored, tails)
  if (lost.length > 0)
    broken.push(`${lost.length} accepted candidates have no outcome and are not stored: ${some(lost)}`)
  if (doubled.length > 0) broken.push(`${doubled.length} candidates have more than one outcome: ${some(doubled)}`)
  if (both.length > 0) broken.push(`${both.length} candidates have ended and are stored all the same: ${some(both)}`)
  if (phantoms.length > 0) broken.push(`${phantoms.length} outcomes of candidates that nobody sent: ${some(phantoms)}`)

  const most = Math.max(0, ...perDeath.values())
  if (most > slots) broken.push(`${most} extra requests after one death, of a fetcher with ${slots} slots`)
  const backMs = back.map(({ ms }) => ms).toSorted((a, b) => a - b)
  // An order whose holder dies before it has begun anything costs a reservation more; two such deaths in a row are rare.
  const backWithin = holdOf(times) + BACK_SLACK_MS
  const late: string[] = []
  const lateBack = back
    .filter(({ ms, died }) => ms > backWithin + (died ? 2 * times.reserveMs : 0))
    .map(({ ms }) => Math.round(ms))
  if (lateBack.length > 0)
    late.push(
      `${lateBack.length} lanes of killed fetchers came back later than ${backWithin} ms: ${lateBack.join(', ')}`,
    )

  const begun = requests.map((line) => ({ start: begunBy(line), line })).toSorted((a, b) => a.start - b.start)
  let unjudgedHolds = 0
  const afterHoldMs = faults.outages.map(({ killedAt, startedAt, backAt }) => {
    const opens = backAt + holdOf(times)
    const stallMs = longestNear(stalls, killedAt, opens)
    const granted = killedAt + LAST_WORD_MS + ON_ITS_WAY_MS
    const judgedFrom = granted + stallMs
    const judgedUntil = startedAt + holdOf(times) - 50 - stallMs // the storm may notice later than the fleet that Redis is back
    if (judgedFrom >= judgedUntil) unjudgedHolds++
    const inHold = begun.filter(({ start }) => start > judgedFrom && start < judgedUntil)
    const early = inHold.filter(({ start }) => start > granted + keptWaiting(stalls, killedAt, start))
    if (early.length > 0)
      broken.push(
        `${early.length} requests while the ledger was away or on hold after ${at(killedAt)}: ${early.map(({ start, line }) => `${at(start)} ${line.agent} ${line.origin}${line.path}`).join(', ')}`,
      )
    const first = begun.find(({ start }) => start >= opens - 50)?.start ?? Number.POSITIVE_INFINITY
    if (first - opens > AFTER_HOLD_MS)
      late.push(`${Math.round(first - opens)} ms after the hold nothing had been granted`)
    return first - opens
  })
  return {
    report,
    broken,
    late,
    violations,
    residual,
    heldOpen: [...heldOpen],
    extra,
    mostPerDeath: most,
    underLongerDelay: changes,
    backMs,
    afterHoldMs,
    unjudgedHolds,
    lost,
    lostWithTail,
    doubled,
    doubledWithTail,
    phantoms,
    accepted: book.accepted.size,
    outcomes: book.outcomes.size,
    stored: stored.size,
  }
}

/**
 * Requests while a longer delay was in force: each comes at least so long after the exchange before it, of the same agent at the same
 * origin. Not judged: what was granted just before, and what comes while Redis may have forgotten the change.
 */
function judgeChange(
  { delayMs, appliedAt, from, until }: ConfigChange,
  { evidence: { requests }, faults, times, stalls }: StormFacts,
  tolerance: Report['tolerance'],
): { judged: number; short: { line: RequestLine; gapMs: number }[] } {
  const short: { line: RequestLine; gapMs: number }[] = []
  if (faults.outages.some(({ lostSince, backAt }) => lostSince < until && backAt > appliedAt))
    return { judged: 0, short }
  const begins = from + LAST_WORD_MS + ON_ITS_WAY_MS + longestNear(stalls, from)
  let judged = 0
  const lanes = Map.groupBy(requests, ({ agent, origin }) => `${agent} ${origin}`)
  for (const lines of lanes.values()) {
    let before: RequestLine | undefined
    for (const line of lines.toSorted((a, b) => a.start - b.start)) {
      const start = begunBy(line)
      if (start >= begins && start < until && before !== undefined && !line.agent.includes(LIAR)) {
        judged++
        const gapMs = start - before.end // below 0: an overlap, which the auditor judges
        const least = delayMs - (before.cut ? (before.late ?? tolerance.afterCutMs) : tolerance.delayMs)
        if (
          gapMs >= 0 &&
          gapMs < least &&
          heldOpenByFrozen({ origin: line.origin, at: start }, requests, faults, times) === undefined
        )
          short.push({ line, gapMs })
      }
      if (before === undefined || line.end > before.end) before = line
    }
  }
  return { judged, short }
}

/** A stall of the whole machine that may have cost a lease does to every fetcher what a freeze does to one. */
const asFreezes = (stalls: readonly Stall[], { leaseMs, deadlineMs }: Times): FaultLog['freezes'] =>
  stalls
    .filter(({ at: from, until }) => until - from > (leaseMs - deadlineMs) / 2)
    .map(({ at, until }) => ({ name: 'the machine', role: 'fetcher', whom: 'family', at, until }))

/** When the site had heard of it at the latest. */
const begunBy = ({ start, resolution = 0 }: RequestLine): number => start + resolution

const holdOf = ({ leaseMs, quarantineMs }: Times): number => leaseMs + quarantineMs
const at = (instant: number): string => new Date(instant).toISOString().slice(11, 23)
const some = (list: string[]): string => list.slice(0, 5).join(', ') + (list.length > 5 ? ' …' : '')

type Span = { at: number; until: number }

/** Somebody who may have held the next order of a lane. */
const diedBetween = (from: number, until: number, { kills, freezes }: FaultLog): boolean =>
  [...kills, ...freezes].some(({ at: moment }) => moment > from && moment < until)

/** The first span that hit an exchange while it was open or not yet told. */
function hitBy(line: RequestLine, spans: Span[], afterMs = SETTLED_MS): Span | undefined {
  return spans.find((span) => span.at <= line.end + afterMs && span.until >= line.start - ON_ITS_WAY_MS)
}

/** Whether this answer had asked for silence at the time of a violation. */
const asksToWait = ({ origin, status, retryAfter, end }: RequestLine, violation: Violation): boolean =>
  origin === violation.origin &&
  meaningOf(status) === 'asked-for-less' &&
  end <= violation.at &&
  end + (parseRetryAfter(retryAfter, end) ?? 0) > violation.at

/**
 * Why the ledger may not have known at an instant that an answer had asked for silence: nobody had heard it, or nobody could tell of it. Where Redis has forgotten it, a process that lives
 * and runs writes it again before the hold is over.
 */
function unheard(
  line: RequestLine,
  when: number,
  faults: FaultLog,
  times: Times,
  stalls: readonly Stall[],
): Cause | undefined {
  const { start, end } = line
  const waited = keptWaiting(stalls, start - times.deadlineMs, end)
  const hasHungUp = line.cut === true || (/^\/(proxied|again)\//.test(line.path) && waited > 0)
  if (hasHungUp) return 'freeze'
  if (when < start + times.leaseMs - ON_ITS_WAY_MS) return undefined // what is not told of holds its lane until then
  if (outlasted(line, times, stalls)) return 'freeze'
  const of = (list: readonly { role: string; at: number; until?: number }[]): Span[] =>
    list.filter(({ role }) => role !== 'gateway').map(({ at, until = at }) => ({ at, until }))
  const isHit = (spans: Span[], until: number): boolean =>
    spans.some((span) => span.at <= until && span.until >= start - ON_ITS_WAY_MS)
  const { kills, freezes, hurts, outages } = faults
  const outage = outages.find(({ lostSince, backAt }) => lostSince <= end + SETTLED_MS && backAt >= start)
  const opens = outage === undefined ? 0 : outage.backAt + holdOf(times)
  const until = Math.max(end + SETTLED_MS + longestNear(stalls, start, end), opens)
  if (isHit(of(kills), until)) return 'kill'
  if (isHit(of(freezes), until)) return 'freeze'
  if (isHit(of(hurts), until)) return 'link'
  return outage !== undefined && keptWaiting(stalls, start, opens) > holdOf(times) / 2 ? 'redis' : undefined
}

/** Redis first: when it forgets, whatever was going on comes again, whoever died besides. */
function causeOf(
  line: RequestLine,
  { kills, freezes, outages, hurts }: FaultLog,
  afterMs = SETTLED_MS,
): Cause | undefined {
  const ofFetchers = <T extends { role: string }>(list: T[]): T[] => list.filter(({ role }) => role === 'fetcher')
  const forgot = outages.map(({ lostSince, backAt }) => ({ at: lostSince, until: backAt }))
  if (hitBy(line, forgot, afterMs)) return 'redis'
  const moments = ofFetchers(kills).map(({ at: moment }) => ({ at: moment, until: moment }))
  if (hitBy(line, moments, afterMs)) return 'kill'
  if (hitBy(line, ofFetchers(freezes), afterMs)) return 'freeze'
  return hitBy(line, ofFetchers(hurts), afterMs) ? 'link' : undefined
}

/**
 * The earlier exchange of the lane that was open through a freeze which outlasted its lease, when the next came only after
 * that lease: its sender could not hang up.
 */
function heldOpenByFrozen(
  { origin, at: when }: Pick<Violation, 'origin' | 'at'>,
  requests: readonly RequestLine[],
  { freezes }: FaultLog,
  { leaseMs }: Times,
): RequestLine | undefined {
  const sends = new Set(['fetcher', 'proxy'])
  const beyond = freezes.filter(({ role, at: from, until }) => sends.has(role) && until - from > leaseMs)
  return requests.find(
    (line) =>
      line.origin === origin &&
      when >= line.start + leaseMs - ON_ITS_WAY_MS &&
      line.end >= line.start + leaseMs - ON_ITS_WAY_MS &&
      beyond.some(
        ({ at: from, until }) => line.start < from + ON_ITS_WAY_MS && line.end > from && when <= until + SETTLED_MS,
      ),
  )
}

/** Accepted = outcomes, one each, + stored. What a cut tail took with it is told apart by its time. */
function reconcile(
  { accepted, outcomes, unsure }: StormFacts['book'],
  stored: Set<string>,
  tails: FaultLog['outages'],
): Pick<Verdict, 'lost' | 'lostWithTail' | 'doubled' | 'doubledWithTail' | 'phantoms'> & { both: string[] } {
  const inTail = (at: number, from = at): boolean =>
    tails.some(({ lostSince, backAt }) => at >= lostSince && from <= backAt)
  const gone = [...accepted].filter(([id]) => !outcomes.has(id) && !stored.has(id))
  const several = [...outcomes].filter(([, list]) => list.length > 1)
  const forgotten = (list: { at: number }[]): boolean => list.slice(0, -1).every((one) => inTail(one.at))
  return {
    lost: gone.filter(([, { from, at }]) => !inTail(at, from)).map(([id]) => id),
    lostWithTail: gone.filter(([, { from, at }]) => inTail(at, from)).map(([id]) => id),
    doubled: several.filter(([, list]) => !forgotten(list)).map(([id]) => id),
    doubledWithTail: several.filter(([, list]) => forgotten(list)).map(([id]) => id),
    both: [...outcomes]
      .filter(([id, list]) => stored.has(id) && !list.every((one) => inTail(one.at)))
      .map(([id]) => id),
    phantoms: [...outcomes.keys()].filter((id) => !accepted.has(id) && !unsure.has(id)),
  }
}
