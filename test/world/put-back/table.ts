/**
 * Faults that were mended once, or that others have thought of, each put back into the code of today: where the code that had it is gone, into what took its
 * place. `of` says where it is told: a program of the reviewers (repro), the changelog, docs/promises.md, or a rule of the scripts that it breaks.
 */
import type { WorldOptions } from '../world.ts'

type About = {
  name: string
  of: string
  /** of the runs that look for it, where the usual ones have little of what it needs */
  options?: Omit<WorldOptions, 'seed' | 'planted'>
  /** why the world cannot find it */
  cannot?: string
}
/** Other text in the place of one that is in the file once. */
export type InCode = About & { file: string; text: string; put: string }
/** A mutant of test/ledger/model/mutants.ts, by its name. */
export type InScripts = About & { mutant: string }
export type PutBack = InCode | InScripts
/** found-by.json: by its name, the seed of the run that found it, after so many seconds of CPU, and by what */
export type FoundBy = Record<string, { seed: number; seconds: number; by: string }>

/** Where hosts share their pace, and crawlers of others ask. */
const OTHERS = { crawlers: 8, sites: 12, plain: 0.2, busySeconds: 40, faultEveryMs: 1_000, fetchers: 2 }
/** Nothing goes wrong: how fast it is shows what nobody is waited for. */
const CALM = { faultEveryMs: 0, permits: 0, proxies: 0, sites: 40, busySeconds: 30 } as const
/** What is lost shows when nothing comes any more: nobody but the fleet makes requests. */
const ALONE = { permits: 0, proxies: 0, sites: 24, busySeconds: 20 } as const
/** Processes come and go, so that one that has just started may be the first to see a leap. */
const LEAPS = {
  leaps: true,
  kinds: ['clock leap', 'crash', 'restart'],
  faultEveryMs: 1_500,
  sites: 24,
  busySeconds: 60,
} as const
const LOSSES = { kinds: ['lost second', 'restart'], faultEveryMs: 15_000, sites: 24, busySeconds: 60 } as const
/** Orders wait for slots, and exchanges take long. */
const QUEUES = { slots: 4, fetchers: 2, sites: 24, plain: 0.1, busySeconds: 40, faultEveryMs: 2_000 } as const
const OPERATORS = {
  kinds: ['stop', 'pause', 'block', 'crawl', 'cancel', 'delay', 'configuration', 'policy', 'slow link', 'crash'],
  faultEveryMs: 600,
  sites: 24,
  plain: 0.3,
  busySeconds: 40,
} as const

/** Nothing goes wrong, so that each answer reaches Redis, and nobody else asks: what a site asks for has to be kept at once (shut.ts). */
const AT_EASE = {
  kinds: ['refetch', 'pause', 'block', 'crawl'],
  faultEveryMs: 1_000,
  permits: 0,
  proxies: 0,
  sites: 30,
  plain: 0,
  busySeconds: 25,
} as const
/** The number of partitions changes again and again, and policies outlast that. */
const MOVES = {
  ...ALONE,
  kinds: ['partitions', 'partitions', 'partitions', 'partitions', 'policy'],
  faultEveryMs: 2_000,
  sites: 8,
  plain: 0.5,
  busySeconds: 120,
} as const
/** Nobody has seen the time pass, or many calls come late. */
const BLACKOUTS = {
  ...ALONE,
  leaps: false,
  kinds: ['blackout', 'hang'],
  faultEveryMs: 6_000,
  sites: 8,
  busySeconds: 40,
  fetchers: 2,
} as const
/** Sites with other ports ask for a longer delay than the fleet's own. */
const SLOWER = { ...CALM, sites: 12, plain: 0, busySeconds: 6, manners: ['asks for three seconds'] } as const
/** Exchanges take longer than short leases. */
const LONG = ['takes its time now and then', 'never answers now and then', 'slow'] as const
/** Delays become longer while they run, and while requests are in flight. */
const LONGER = { ...OPERATORS, kinds: ['delay', 'policy', 'configuration', 'refetch', 'crash'] } as const
/** Lanes are held by what operators do. */
const HELD = { ...OPERATORS, kinds: ['stop', 'pause', 'block', 'refetch'], faultEveryMs: 1_000 } as const

/** Sites that ask for less, each several times. */
const LESS = { manners: ['asks for less now and then'], plain: 0, sites: 12, busySeconds: 40, faultEveryMs: 0 } as const

const SENDING = 'packages/sending/src'
const inCode: InCode[] = [
  {
    name: 'the lease is not checked in the tick in which the bytes leave',
    of: 'promises: the judges are judged',
    file: `${SENDING}/leases/lease.ts`,
    text: 'return this.#tooOld() ?? this.stillHeld() ?? this.wrongAddress(address)',
    put: 'return this.wrongAddress(address)',
    options: {
      ...CALM,
      sites: 30,
      plain: 1,
      busySeconds: 20,
      gateways: 1,
      fetchers: 6,
      slots: 2,
      kinds: ['freeze point'],
      points: ['start.after'],
      faultEveryMs: 500,
    },
  },
  {
    name: 'a lease that is old is not confirmed before the first byte',
    of: 'changelog 0.1.0: a permit that is more than a moment old is asked for again',
    file: `${SENDING}/leases/lease.ts`,
    text: 'age() <= FRESH_LEASE_MS ? undefined : check()',
    put: 'undefined',
    options: {
      kinds: ['pause', 'block'],
      faultEveryMs: 300,
      sites: 40,
      plain: 0,
      busySeconds: 40,
      permits: 0,
      proxies: 0,
    },
  },
  {
    name: '40 ms of delay that were not kept are reported as kept',
    of: 'promises: the judges are judged',
    file: `${SENDING}/ledger.ts`,
    text: 'Math.max(0, clock.monotonic() - endedAt)',
    put: 'Math.max(0, clock.monotonic() - endedAt) + 40',
  },
  {
    name: 'a wait ends three milliseconds early',
    of: 'changelog: some milliseconds early, 144.6 ms instead of 150 ms',
    file: `${SENDING}/leases/wait.ts`,
    text: 'const until = clock.monotonic() + ms\n  for (let left = ms; left',
    put: 'const until = clock.monotonic() + ms - 3\n  for (let left = ms - 3; left',
  },
  {
    name: 'what is granted a little ahead is sent at once',
    of: 'repro requests-at-once; decision 0026',
    file: `${SENDING}/leases/wait.ts`,
    text: 'if (waitMs > 0) await exactly(ledger.clock, waitMs)\n      return { kind',
    put: 'if (waitMs < 0) await exactly(ledger.clock, waitMs)\n      return { kind',
  },
  {
    name: 'a Retry-After is not reported',
    of: 'repro robots-429-open; changelog: Retry-After counts beside any status',
    file: `${SENDING}/load.ts`,
    text: "if (meaningOf(status) === 'asked-for-less') return { kind: 'asked-for-less', ...requested }",
    put: "if (meaningOf(status) === 'asked-for-less') return NORMAL_LOAD",
  },
  {
    name: 'a permit whose answer came late is handed out',
    of: 'changelog: an answer of the ledger that is more than a second old grants nothing',
    file: 'services/permits/src/desk.ts',
    text: 'passed(ledger.clock, since) > Math.min(marginMs, SEND_WITHIN_MS - 1)',
    put: 'passed(ledger.clock, since) > 1e9',
    options: { ...OTHERS, kinds: ['slow link', 'freeze'], faultEveryMs: 500 },
  },
  {
    name: 'a permit counts its time from when it is answered',
    of: "changelog: a permit's sendWithinMs is less by the age of what the ledger said (repro idempotent-replay)",
    file: 'services/permits/src/desk.ts',
    text: 'Math.min(Math.floor(SEND_WITHIN_MS - passed(ledger.clock, since)), leaseMs)',
    put: 'Math.min(Math.floor(SEND_WITHIN_MS + 60_000 - passed(ledger.clock, since)), leaseMs)',
    options: OTHERS,
  },
  {
    name: 'a permit lasts longer for its holder than in the ledger',
    of: 'promise 11',
    file: 'services/permits/src/leased.ts',
    text: 'leaseMs + desk.marginMs)',
    put: 'Math.ceil(leaseMs / 4))',
    options: {
      ...OTHERS,
      manners: LONG,
      plain: 0,
      proxies: 0,
      workers: 0,
      crawlers: 12,
      gateways: 1,
      fetchers: 1,
      kinds: ['cut'],
      faultEveryMs: 4_000,
    },
  },
  {
    name: 'the proxy does not extend its lease',
    of: 'repro adapter-python-long: adapters never extended',
    file: 'services/proxy/src/turn.ts',
    text: 'const check = async (): Promise<void> => {\n    const now',
    put: 'const check = async (): Promise<void> => {\n    if (begun > 0) return\n    const now',
    options: { ...OTHERS, manners: ['never answers now and then'], plain: 0, busySeconds: 150, faultEveryMs: 0 },
  },
  {
    name: 'rules that forbid a URL are not asked at dispatch',
    of: 'promise 2',
    file: 'services/gateway/src/decide.ts',
    text: "if (verdict.kind === 'refused') {",
    put: "if (verdict.kind === 'refused' && attempts > 9) {",
  },
  {
    name: 'callers of permits are not refused what the rules forbid',
    of: 'promise 2; changelog: a worker with a permit requested what Disallow forbids',
    file: 'packages/sending/src/granting/attempt.ts',
    text: "if (judgement.kind === 'refused') return forbidden(disallowed(judgement), wish.url)\n    if (judgement.kind === 'wait' && dead",
    put: "if (judgement.kind === 'wait' && dead",
    options: OTHERS,
  },
  {
    name: 'a robots.txt that fails allows everything',
    of: 'docs/spec/robots.md §5: 5xx read as "allow" is the most common bug of crawlers in the field',
    file: 'packages/robots/src/policies.ts',
    text: "answers: { ...answersByRfc, partial: 'unreachable', 'too-many-requests': 'unreachable' },\n  denyForMs: 12 * HOUR,",
    put: "answers: { ...answersByRfc, partial: 'unreachable', 'server-error': 'open' },\n  denyForMs: 12 * HOUR,",
    options: { plain: 0 },
  },
  {
    name: 'a crawl-delay is not kept',
    of: 'promise 1',
    file: 'packages/politeness/src/effective-delay.ts',
    text: 'return { ...delay, delayMs: Math.max(agent.minDelayMs, delay.delayMs, recordedMs) }',
    put: 'return { ...delay, delayMs: Math.max(agent.minDelayMs, recordedMs * 0) }',
  },
  {
    name: 'other ports of a host are hosts of their own',
    of: 'changelog: http://[::ffff:192.0.2.1]/ and http://192.0.2.1/ are one host with one lane',
    file: 'packages/politeness/src/pace-groups.ts',
    text: 'return hostLane === origin ? undefined : { agent, origin: hostLane }',
    put: 'return hostLane === agent ? { agent, origin: hostLane } : undefined',
    options: OTHERS,
  },
  {
    name: 'the outbox is cleared before its candidates are stored',
    of: 'promises: the judges are judged',
    file: 'services/gateway/src/housekeeping.ts',
    text: '    const done: string[] = []\n    for (const { id, candidate } of entries) {',
    put: "    const done: string[] = []\n    if (entries.length > 0) {\n      await ledger.clearOutbox(partition, entries.map(({ id }) => id))\n      crashPoint('outbox.after-clear')\n    }\n    for (const { id, candidate } of entries) {",
    options: { kinds: ['crash point', 'crash'], faultEveryMs: 200, sites: 40, busySeconds: 20 },
  },
  {
    name: 'a hop of a robots.txt is not confirmed and counts no delay',
    of: 'repro policy-hop',
    file: `${SENDING}/robots/hop-lane.ts`,
    text: 'await endPaceLeases(ledger, acquired, Math.max(owedMs, adaptiveMs, requestedMs), { endedAt, load }, report)',
    put: 'await release(ledger, acquired, report)',
  },
  {
    name: 'a configuration that a process has not read does not hold for it',
    of: 'promise 14; repro config-version-reused',
    file: 'packages/ledger/src/verbs/rates.ts',
    text: 'LEAST_DELAY_ITEM.write',
    put: '(one: LeastDelay) => LEAST_DELAY_ITEM.write({ ...one, delayMs: 0 })',
    options: OPERATORS,
  },
  {
    name: 'an order that could not be started is carried out',
    of: 'changelog: a lease whose time is over is not confirmed',
    file: `${SENDING}/leases/wait.ts`,
    text: "if (answer === undefined) return { kind: 'refused', why: 'ledger-unavailable' }",
    put: "if (answer === undefined) return { kind: 'granted', own: { ...lane, ...awaited, kind: what }, host: undefined, since, leaseMs: 45_000 }",
    options: { ...ALONE, kinds: ['restart'], faultEveryMs: 5_000, sites: 60, plain: 1, busySeconds: 40 },
  },
  {
    name: 'an order is carried out whatever has become of its lane',
    of: 'changelog: a block, a pause or a back-off that comes between reservation and start',
    file: `${SENDING}/leases/wait.ts`,
    text: "if (answer.kind === 'refused') return answer\n",
    put: "if (answer.kind === 'refused') return { kind: 'granted', own: { ...lane, ...awaited, kind: what }, host: undefined, since, leaseMs: 45_000 }\n",
  },
  {
    name: 'a lease is confirmed while its host is stopped',
    of: 'promise 10; repro stop-address-order',
    file: `${SENDING}/ledger.ts`,
    text: "return answers.find((answer) => answer !== 'granted')",
    put: 'return undefined',
    options: OPERATORS,
  },
  {
    name: 'cancelled URLs are not swept away',
    of: 'changelog: URLs of a cancelled crawl',
    file: 'packages/ledger/src/ledger/crawls.ts',
    text: 'if (endingOf(record) !== undefined)\n          ended +=',
    put: 'if (endingOf(record) === undefined && name === undefined)\n          ended +=',
    options: {
      kinds: ['cancel', 'pause'],
      faultEveryMs: 2_000,
      sites: 12,
      busySeconds: 20,
      permits: 0,
      proxies: 0,
      gateways: 1,
      fetchers: 2,
    },
  },
  {
    name: 'nothing is reaped',
    of: 'promise 6',
    file: 'packages/ledger/src/end-leases.ts',
    text: 'await ledger.reap(partition)',
    put: '(partition < 0 ? await ledger.reap(partition) : { started: 0, unstarted: 0, robotsFetches: [], more: false })',
    // A run with URLs that never end lasts twenty minutes
    options: {
      kinds: ['crash'],
      faultEveryMs: 1_000,
      sites: 6,
      busySeconds: 10,
      permits: 0,
      proxies: 0,
      gateways: 1,
      fetchers: 2,
    },
  },
  {
    name: 'a lane that waits for rules is not woken by them',
    of: 'changelog: callers that wait for a permit behind an unreachable robots.txt',
    file: `${SENDING}/ledger.ts`,
    text: '  await endRobotsFetch(ledger, own)\n  return result\n}\n\nasync function resolveAll',
    put: '  return result\n}\n\nasync function resolveAll',
    options: {
      ...AT_EASE,
      manners: ['connects slowly'],
      kinds: ['refetch', 'pause', 'block', 'stop'],
      faultEveryMs: 500,
    },
  },
  {
    name: 'an answer that asks to wait beside another status than 429 and 503 is not heard',
    of: 'changelog 0.2.0: Retry-After counts beside any status; decision 0032',
    file: `${SENDING}/load.ts`,
    text: "return { kind: 'asked-for-less', ...requested }\n  return Object.keys(requested).length === 0",
    put: "return { kind: 'asked-for-less', ...requested }\n  return Object.keys(requested).length >= 0",
    options: AT_EASE,
  },
  {
    name: 'several 403 in a row are pages like any other',
    of: 'changelog 0.2.0: several 403 in a row put an origin into back-off',
    file: `${SENDING}/load.ts`,
    text: "status === 403 ? { kind: 'turned-away', ...readRetryAfter(retryAfter) } : loadOf(status, retryAfter)",
    put: 'loadOf(status, retryAfter)',
    options: AT_EASE,
  },
  {
    name: 'a 429 closes its own port alone',
    of: 'docs/site-owners.md: one host is one site for every 429 to a page (repro robots-hop-429)',
    file: `${SENDING}/ledger.ts`,
    text: 'const hostLoad = loadOfHost(load)',
    put: 'const hostLoad = loadOfHost(NORMAL_LOAD)',
    options: AT_EASE,
  },
  {
    name: 'a redirect that asks to wait is followed at once',
    of: 'changelog 0.2.0: beside a redirect Retry-After delays the target alone',
    file: `${SENDING}/ledger.ts`,
    text: 'const left = defined({ outcome, candidate, candidateAfter, tookMs:',
    put: 'void candidateAfter\n  const left = defined({ outcome, candidate, tookMs:',
    options: AT_EASE,
  },
  {
    name: 'a robots.txt that asks for less closes nothing',
    of: 'repro robots-429-fresh, robots-429-open; changelog 0.2.0: Retry-After, also of a robots.txt',
    file: `${SENDING}/robots/ask-robots.ts`,
    text: 'if (isFor(wait) > 0) load = bothLoads(load, answerLoad)',
    put: 'if (isFor(wait) > 1e12) load = bothLoads(load, answerLoad)',
    options: AT_EASE,
  },
  {
    name: 'what the file asks for that a robots.txt leads to is not heard',
    of: 'repro robots-hop-429',
    file: `${SENDING}/robots/ask-robots.ts`,
    text: 'if (lane.isShared) keepLoad(hopLoad)\n',
    put: '',
    options: AT_EASE,
  },
  {
    name: 'a page that redirects to itself is followed',
    of: 'changelog 0.2.0: a page that redirects to itself fails after one request',
    file: `${SENDING}/read-page.ts`,
    text: "if (target.url === orderUrl(order)) return failing('too-many-redirects', 'it redirects to itself')\n",
    put: '',
    options: { plain: 0 },
  },
  {
    name: 'the end of an exchange is reported once, whether or not Redis answers',
    of: 'promise 5: a request comes again only when its process was killed, frozen or cut off',
    file: `${SENDING}/report.ts`,
    text: 'return !isOver()',
    put: 'return isOver() && false',
    options: { ...ALONE, kinds: ['cut'], faultEveryMs: 2_000, busySeconds: 40 },
  },
  {
    name: 'a hop in a lane that is held does not wait for its delay',
    of: 'repro policy-hop; docs/robots.md: a hop is a request like any other',
    file: `${SENDING}/robots/hop-lane.ts`,
    text: 'const shared = held.flatMap((one) => lease.leaseOf(one) ?? []).map(laneOf)',
    put: 'const shared = held.flatMap((one) => lease.leaseOf(one) ?? []).map(laneOf).slice(0, 0)',
    options: { ...CALM, sites: 8, plain: 0, busySeconds: 4, manners: ['its robots.txt is another file'] },
  },
  {
    name: 'a hop to the robots.txt of another origin is no robots fetch of it',
    of: 'changelog 0.1.0: at most one request for robots.txt is in flight, also by a redirect of another one',
    file: `${SENDING}/robots/hop-lane.ts`,
    text: 'byName(requested, { isRobots, held: ownHeld }, tools)',
    put: 'byName(requested, { isRobots: false, held: ownHeld }, tools)',
    cannot:
      'the hop holds the lane of that origin, where its agent fetches nothing else meanwhile (test/sending/robots/hop-lane)',
  },
  {
    name: 'a robots.txt leads to what the rules there forbid',
    of: 'changelog 0.1.0: such a redirect is not followed to a URL that the rules known there forbid',
    file: `${SENDING}/robots/hop-rules.ts`,
    text: "if (verdict.kind === 'refused') return",
    put: "if (verdict.kind === 'refused' && path === '') return",
    options: { kinds: ['refetch'], faultEveryMs: 500, permits: 0, proxies: 0, sites: 60, plain: 0, busySeconds: 30 },
  },
  {
    name: 'what has expired is sent for all the same',
    of: 'changelog 0.2.0: a URL ends at its expiresAt',
    file: 'services/gateway/src/decide.ts',
    text: 'if (expires <= now) {',
    put: 'if (expires <= now - 1e12) {',
    options: QUEUES,
  },
  {
    name: 'Visit-time is not asked at dispatch',
    of: 'changelog 0.2.0: agents with honourVisitTime keep to Visit-time',
    file: 'services/gateway/src/decide.ts',
    text: 'senderGate(verdict, visitFrom, now)',
    put: 'senderGate(verdict, Math.min(visitFrom, 0), now)',
    options: { plain: 0, permits: 0, proxies: 0 },
  },
  {
    name: 'a permit does not wait for what its sender alone can judge',
    of: 'changelog 0.2.0: agents with honourVisitTime keep to Visit-time; promise 2',
    file: `${SENDING}/granting/attempt.ts`,
    text: 'if (judged.closed !== undefined) return',
    put: 'if (judged.closed !== undefined && tries > 9) return',
    options: { ...OTHERS, plain: 0, sites: 24 },
  },
  {
    name: 'a permit that is granted ahead is handed out at once',
    of: 'decision 0026: what is due soon is granted ahead',
    file: 'services/permits/src/ask.ts',
    text: 'if (turn.waitMs > 0) await exactly(desk.ledger.clock, turn.waitMs)\n',
    put: '',
    options: OTHERS,
  },
  {
    name: 'the proxy sends at once what is granted ahead',
    of: 'decision 0026: what is due soon is granted ahead',
    file: 'services/proxy/src/turn.ts',
    text: 'if (turn.waitMs > 0) await exactly(tools.ledger.clock, turn.waitMs)\n',
    put: '',
    options: { ...OTHERS, permits: 0, sites: 4, plain: 1, faultEveryMs: 0 },
  },
  {
    name: 'the holder of a permit says when its exchange has ended',
    of: 'docs/permits.md: the delay starts when the completion arrives',
    file: 'services/permits/src/leased.ts',
    text: 'endedAt: ledger.clock.monotonic(),',
    put: 'endedAt: ledger.clock.monotonic() - tookMs,',
    options: OTHERS,
  },
  {
    name: 'a further request does not wait for its turn',
    of: 'repro requests-at-once, pool-policy',
    file: 'services/permits/src/next-request.ts',
    text: 'await exactly(desk.ledger.clock, requested.waitMs)',
    put: 'await exactly(desk.ledger.clock, 0 * requested.waitMs)',
    options: { workers: 8, sites: 12, busySeconds: 40, proxies: 0, crawlers: 0, faultEveryMs: 2_000 },
  },
  {
    name: 'who holds an order is not told of the stop of an address',
    of: 'repro stop-address-order',
    file: 'services/permits/src/desk.ts',
    text: "return stops.why(origin, await addressOf(origin)) === undefined ? undefined : 'stopped'",
    put: "return stops.why(origin, await addressOf(origin)) === '' ? 'stopped' : undefined",
    options: {
      kinds: ['stop'],
      faultEveryMs: 3_000,
      workers: 8,
      poolEvery: 1,
      crawlers: 4,
      proxies: 0,
      sites: 12,
      busySeconds: 60,
      manners: LONG,
      plain: 0,
    },
  },
  {
    name: 'the stop of an address holds no turn',
    of: 'promise 10; repro stop-address-order',
    file: `${SENDING}/leases/turn.ts`,
    text: 'isStopped: stoppedAt(ledger, origin, address) !== undefined,',
    put: "isStopped: stoppedAt(ledger, origin, address) === '',",
    options: { ...OTHERS, kinds: ['stop'], faultEveryMs: 400 },
  },
  {
    name: 'the target of a redirect is stored without a mark',
    of: 'promise 4: a redirect that is stored again has one target',
    file: 'services/gateway/src/housekeeping.ts',
    text: '[{ ...item, mark: outboxMark(tag, id) }]',
    put: "[outboxMark(tag, id) === '' ? item : { ...item }]",
    options: {
      ...ALONE,
      busySeconds: 15,
      manners: ['redirects its first pages'],
      plain: 0,
      kinds: ['freeze point'],
      points: ['outbox.after-store'],
      faultEveryMs: 1_000,
    },
  },
  {
    name: 'the process that has just started vouches for the time',
    of: 'decision 0014: a clock of Redis that leaps',
    file: 'packages/ledger/src/redis-clock.ts',
    text: 'now - firstAt < KNOWN_MS',
    put: 'now - firstAt < 0',
    options: BLACKOUTS,
  },
  {
    name: 'a bound of the time of Redis is kept although a reply disproves it',
    of: 'decision 0014: a clock of Redis that leaps',
    file: 'packages/ledger/src/redis-clock.ts',
    text: 'most = kept.most < low ? high : Math.min(kept.most, high)',
    put: 'most = Math.min(kept.most, high)',
    options: BLACKOUTS,
  },
  {
    name: 'nobody hears of wake-ups',
    of: 'README: a lane that becomes due is seen at once',
    file: 'packages/ledger/src/wakes.ts',
    text: "      .on('message', listener)\n",
    put: '',
    options: { ...CALM, sites: 2, busySeconds: 20 },
  },
  {
    name: 'a record that a Redis has lost is not written again',
    of: 'changelog 0.2.0: configuration, policies, stops and crawls are written again by the processes that run; decision 0028',
    file: 'packages/ledger/src/record/keeper.ts',
    text: 'if (version < known.version) versions[at] = (await place.write(known)).version',
    put: 'if (version < known.version) versions[at] = known.version',
    options: {
      kinds: ['stop', 'configuration', 'policy', 'lost second'],
      faultEveryMs: 3_000,
      sites: 24,
      busySeconds: 60,
    },
  },
  {
    name: 'the hosts of a list share nothing',
    of: 'changelog 0.1.0: lists of hosts may share a pace',
    file: 'packages/politeness/src/pace-groups.ts',
    text: 'for (const list of listsOf(name)) paceLanes',
    put: 'for (const list of listsOf(name).slice(0, 0)) paceLanes',
    options: { grouped: 'list', sites: 12, busySeconds: 30 },
  },
  {
    name: 'hosts at one address share nothing',
    of: 'changelog 0.1.0: addresses may share a pace',
    file: 'packages/politeness/src/pace-groups.ts',
    text: 'if (address !== undefined && at !== undefined)',
    put: 'if (address !== undefined && at === undefined)',
    options: { grouped: 'address', sites: 12, busySeconds: 30 },
  },
  {
    name: 'a list that all agents share has places for each',
    of: 'changelog 0.1.0: pace groups, sharedByAgents',
    file: 'packages/politeness/src/pace-groups.ts',
    text: 'agent: group.sharedByAgents ? EVERYBODY : agent,',
    put: 'agent: group.sharedByAgents && agent === EVERYBODY ? EVERYBODY : agent,',
    options: { grouped: 'list', sites: 12, busySeconds: 60, workers: 8, crawlers: 0, proxies: 0 },
  },
  {
    name: 'the lease of the host is not extended with that of the request',
    of: 'changelog 0.1.0: http:, https: and all ports of one host share its pace',
    file: `${SENDING}/ledger.ts`,
    text: 'byPartition(ledger, lanesOf(leases)).map(([, some]) => ledger.extend(some, leaseMs))',
    put: 'byPartition(ledger, lanesOf(leases).slice(0, 1)).map(([, some]) => ledger.extend(some, leaseMs))',
    options: { ...OTHERS, manners: LONG, plain: 0, busySeconds: 150, faultEveryMs: 0 },
  },
  {
    name: 'the host owes no more than it has owed before',
    of: 'repro delay-host, pace-lane-raise',
    file: `${SENDING}/ledger.ts`,
    text: '{ delayMs: Math.max(delayMs, owedMs), load: hostLoad }',
    put: '{ delayMs: delayMs + 0 * owedMs, load: hostLoad }',
    options: SLOWER,
  },
  {
    name: 'a crawl-delay does not count for the request that brought it',
    of: 'changelog 0.1.0: the longest known crawl-delay is owed also by the request that brought it',
    file: `${SENDING}/ledger.ts`,
    text: 'return Math.max(delayMs, adaptiveMs, furtherMs, recorded)',
    put: 'return Math.max(delayMs, adaptiveMs, furtherMs, recorded * 0)',
    options: SLOWER,
  },
  {
    name: 'an exchange may outlast its lease',
    of: 'promise 1: the deadline of an exchange ends before its lease',
    file: `${SENDING}/leases/lease.ts`,
    text: 'return Math.min(this.#durations.fetchDeadlineMs, this.#usableMs - this.#age())',
    put: 'return this.#durations.fetchDeadlineMs + 60_000',
    options: { plain: 0, permits: 0, proxies: 0 },
  },
  {
    name: 'an answer from before the end of the lease is recorded as a new one',
    of: 'changelog 0.1.0: a frozen process records nothing old',
    file: `${SENDING}/ledger.ts`,
    text: "if (report.isOver()) return Promise.resolve('stale' as const)\n",
    put: '',
    cannot:
      'Redis refuses the record as soon as a gateway has reaped the lease, within a second of its end (test/sending/robots/check-robots)',
  },
  {
    name: 'what a host was sent today is forgotten when it moves',
    of: 'repro repartition-budget',
    file: 'packages/ledger/src/layout-moves.ts',
    text: "requests: { entries: 'host', in: 'hash' },",
    put: "requests: { stays: '' },",
    options: MOVES,
  },
  {
    name: 'lanes that a policy holds are not found when they have moved',
    of: 'repro repartition-closed',
    file: 'packages/ledger/src/layout-moves.ts',
    text: "heldByPolicy: { entries: 'lane', in: 'set' },",
    put: "heldByPolicy: { stays: '' },",
    options: MOVES,
  },
]

/** Rules of the scripts that nothing in the world comes to rely on. */
const CANNOT: Record<string, string> = {
  'the pace lane of a permit owes what the permit asked for':
    'the lane of the host asks what the lane of the permit owes, whatever it is granted for, so only places in a line change (test/ledger/model)',
  'a shorter Retry-After shortens':
    'two answers that ask to wait come one after the other, but to workers of a pool, who may send behind either (test/ledger/model)',
  'a reaped reservation forgets its due time':
    'lanes are reserved 80 ms before they are due, and a reservation is reaped half a minute later (test/ledger/model)',
  'elapsed time is believed without limit':
    'no process of the world reports more time than has passed (test/ledger/model)',
  'fences begin anew with a Redis that has forgotten them':
    'what was granted before is over when the startup hold ends, so a fence that comes again meets no holder of the former one (test/ledger/model)',
}
const inScripts: InScripts[] = (
  [
    // Fetchers report both delays as well; the scripts owe them whatever is reported
    [
      'a robots fetch owes the delay from before it',
      'changelog 0.1.0: the longest known crawl-delay is owed also by the request that brought it',
      LONGER,
    ],
    [
      'a longer delay does not count for the lane of the host',
      'changelog: the host owes a delay that was raised while a request of another port was in flight (repro pace-lane-raise)',
      LONGER,
    ],
    ['the delay counts from the beginning', 'changelog: the delay counts from when the connection is closed', {}],
    ['elapsed time is believed without limit', 'rule', {}],
    ['store lowers a due time', 'spec §6: adding a URL never lowers a due time', {}],
    ['a lane that is released is due at once', 'rule', {}],
    ['a reaped reservation forgets its due time', 'rule', {}],
    ['start does not wait until the lane is due', 'rule', { kinds: ['crash'], faultEveryMs: 4_000, sites: 24 }],
    ['an order that is granted ahead may be sent at once', 'rule', {}],
    ['a permit that is granted ahead may be used at once', 'rule', OTHERS],
    [
      'a longer delay does not count for delays that run',
      'changelog: a delay that becomes longer is measured from the end',
      LONGER,
    ],
    ['reap does not wait for the quarantine', 'promise 6', {}],
    ['a started lease ends with its reservation', 'promise 1', QUEUES],
    [
      'start relies on the reservation, whatever changed since',
      'changelog: a gate that opens or closes between reservation and start',
      { ...ALONE, kinds: ['pause'], faultEveryMs: 500, slots: 4, fetchers: 1 },
    ],
    ['reserve relies on gates that stood open once', 'changelog: gates', HELD],
    ['a secondary lease overlaps', 'promise 1', OTHERS],
    ['a secondary lease ignores the due time', 'promise 1', OTHERS],
    [
      'a hop is not noted as a robots fetch',
      'changelog 0.1.0: at most one request for robots.txt is in flight',
      { sites: 24, plain: 0 },
    ],
    [
      'the pace lane of a permit owes what the permit asked for',
      'repro delay-host',
      { ...OTHERS, kinds: ['delay'], faultEveryMs: 600, plain: 0 },
    ],
    ['the epoch is ignored', 'promises: a new run of Redis is not noticed', LOSSES],
    ['the clock may run backwards', 'changelog 0.1.0: a clock of Redis that leaps', LEAPS],
    ['a clock that is ahead is believed', 'changelog 0.1.0: a clock of Redis that leaps', LEAPS],
    [
      'a process that has just started is believed at once',
      'decision 0014',
      {
        leaps: true,
        kinds: ['clock leap', 'crash'],
        faultEveryMs: 300,
        permits: 0,
        proxies: 0,
        fetchers: 3,
        sites: 24,
        busySeconds: 60,
      },
    ],
    [
      'leases are granted in doubt',
      'decision 0014',
      { kinds: ['blackout'], faultEveryMs: 15_000, sites: 24, busySeconds: 60 },
    ],
    [
      'fences begin anew with a Redis that has forgotten them',
      'spec §2: fences rise also after Redis lost its tail',
      LOSSES,
    ],
    ['an unused lease opens the lane at once', 'rule', OTHERS],
    ['a shorter Retry-After shortens', 'rule', LESS],
    ['an id is not free after its outcome', 'spec §5', ALONE],
    [
      'a job that comes again stores again',
      'promise 4',
      { kinds: ['crash point'], points: ['intake.after-store', 'intake.done'], faultEveryMs: 500, ...ALONE },
    ],
    ['a stored id is stored again', 'promise 4', LOSSES],
    ['storing makes a lane in flight due', 'rule', {}],
    ["an operator's delay is not owed", 'repro order-requests-longer', LONGER],
    ['start does not look at a raise', 'promise 14', LONGER],
    ['a raise does not count while a delay runs', 'promise 14', LONGER],
    ['a policy has no delay', 'promise 15', LONGER],
    ['a longer policy waits for the next request', 'promise 15', LONGER],
    ['a budget is never spent', 'promise 15; repro repartition-budget', LONGER],
    ['a held lane is reserved', 'promise 2', HELD],
    ['a permit is granted although the pace lane is closed', 'promise 1', OTHERS],
    ['a pause holds for its own origin alone', 'changelog: a pause holds for all schemes and ports of the host', HELD],
    ['a stop covers its own name alone', 'promise 10', HELD],
    [
      'a stop ends by the time of the ledger',
      'promise 10',
      { ...HELD, leapsFirst: true, kinds: ['stop'], busySeconds: 120, permits: 0, proxies: 0 },
    ],
    ['back-off is not noted', 'promise 2', LESS],
    ['an answer opens all gates', 'promise 2', HELD],
    ['the wrong list loses its head', 'promise 4', ALONE],
    ['store puts a URL over the head', 'promise 4', ALONE],
    [
      'a lane with high URLs alone is forgotten',
      'promise 4',
      { ...ALONE, highEvery: 1, kinds: ['slow link', 'cut'], faultEveryMs: 400 },
    ],
    [
      'a lane with URLs of other crawls alone is forgotten',
      'promise 4',
      { ...ALONE, ofDefault: 0, kinds: ['slow link', 'cut'], faultEveryMs: 400 },
    ],
    ['outcomes of all crawls come in one stream', 'spec §5', ALONE],
    [
      'what is in flight is cancelled',
      'changelog: cancel',
      { ...ALONE, manners: ['slow'], plain: 0, kinds: ['cancel'], faultEveryMs: 2_000 },
    ],
    [
      'a reservation outlives the URLs that are cancelled',
      'changelog: cancel',
      {
        ...ALONE,
        ofDefault: 0,
        manners: ['slow'],
        plain: 0,
        slots: 4,
        fetchers: 1,
        kinds: ['cancel'],
        faultEveryMs: 2_000,
      },
    ],
    [
      'what was not started is completed',
      'leases.md',
      {
        ...ALONE,
        kinds: ['lost second', 'slow link'],
        faultEveryMs: 2_500,
        slots: 60,
        manners: ['slow'],
        plain: 0,
        sites: 50,
        busySeconds: 60,
      },
    ],
    ['start grants a second time', 'leases.md', { ...ALONE, kinds: ['lost reply'], faultEveryMs: 100 }],
    [
      'a lease that is over is extended',
      'changelog: a lease whose time is over',
      {
        ...OTHERS,
        gateways: 1,
        manners: ['takes its time now and then', 'slow'],
        kinds: ['hang'],
        faultEveryMs: 20_000,
        busySeconds: 150,
      },
    ],
    [
      'a lease that is over is confirmed',
      'changelog: a lease whose time is over is not confirmed',
      {
        kinds: ['hang'],
        gateways: 1,
        faultEveryMs: 20_000,
        permits: 0,
        proxies: 0,
        sites: 40,
        busySeconds: 200,
        manners: ['connects slowly'],
        plain: 0,
      },
    ],
    [
      'record accepts any fence',
      'promise 3',
      {
        ...ALONE,
        manners: ['its robots.txt is slow'],
        plain: 0,
        kinds: ['crash point', 'freeze point', 'refetch'],
        points: ['robots.fetching', 'reap.before-record'],
        faultEveryMs: 500,
        busySeconds: 60,
      },
    ],
    [
      'an announced restart outlives what was granted after it',
      'promise 7',
      {
        kinds: ['announced restart', 'lost second'],
        manners: ['slow'],
        plain: 0,
        faultEveryMs: 8_000,
        permits: 0,
        proxies: 0,
        sites: 40,
        busySeconds: 200,
      },
    ],
  ] as const
).map(([mutant, of, options]) => ({
  name: mutant,
  mutant,
  of,
  options: options as InScripts['options'] & object,
  ...(CANNOT[mutant] === undefined ? {} : { cannot: CANNOT[mutant] }),
}))

export const FAULTS: readonly PutBack[] = [...inCode, ...inScripts]
