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

/** Delays become longer while they run, and while requests are in flight. */
const LONGER = { ...OPERATORS, kinds: ['delay', 'policy', 'configuration', 'refetch', 'crash'] } as const
/** Lanes are held by what operators do. */
const HELD = { ...OPERATORS, kinds: ['stop', 'pause', 'block', 'refetch'], faultEveryMs: 1_000 } as const
const CANCELS = { ...QUEUES, kinds: ['cancel'], faultEveryMs: 4_000, plain: 0.3 } as const

const SENDING = 'packages/sending/src'
const inCode: InCode[] = [
  {
    name: 'the lease is not checked in the tick in which the bytes leave',
    of: 'promises: the judges are judged',
    file: `${SENDING}/leases/lease.ts`,
    text: 'return this.#tooOld() ?? this.stillHeld() ?? this.wrongAddress(address)',
    put: 'return this.wrongAddress(address)',
    cannot: 'the confirmation before it and the deadline of the exchange stop it as well, as docs/promises.md says',
  },
  {
    name: 'a lease that is old is not confirmed before the first byte',
    of: 'changelog 0.1.0: a permit that is more than a moment old is asked for again',
    file: `${SENDING}/leases/lease.ts`,
    text: 'age() <= FRESH_LEASE_MS ? undefined : check()',
    put: 'undefined',
    cannot: 'nothing is sent on a word that is older than a second, and a stop has a second to take effect',
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
    text: 'passed(ledger.clock, since) > Math.min(marginMs, SEND_WITHIN_MS)',
    put: 'passed(ledger.clock, since) > 1e9',
    cannot:
      'its sendWithinMs is 0, and a call that takes longer than two seconds fails, which the margin of the lease covers; test/permits/faults shows the refusal itself',
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
    options: { ...OTHERS, kinds: ['freeze', 'partition', 'crash'], faultEveryMs: 1_500 },
  },
  {
    name: 'the proxy does not extend its lease',
    of: 'repro adapter-python-long: adapters never extended',
    file: 'services/proxy/src/turn.ts',
    text: 'const check = async (): Promise<void> => {\n    const now',
    put: 'const check = async (): Promise<void> => {\n    if (begun > 0) return\n    const now',
    options: OTHERS,
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
    cannot: 'the auditor reads what an answer means from the same table (packages/robots/src/policies.ts)',
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
    text: 'await endPaceLeases(ledger, acquired, Math.max(owedMs, adaptiveMs), { endedAt, load }, report)',
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
    cannot:
      'where the ledger does not answer, the confirmation before the first byte is not answered either; where only the reply was lost, the lease is real',
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
    options: { ...OPERATORS, kinds: ['cancel', 'crawl'], faultEveryMs: 4_000 },
    cannot: 'the URLs end all the same, when their lane is reserved: the sweep only makes that sooner',
  },
  {
    name: 'nothing is reaped',
    of: 'promise 6',
    file: 'packages/ledger/src/end-leases.ts',
    text: 'ledger.reap(partition)',
    put: '({ ...(await ledger.reap(-1 + partition * 0 + 1)), fetches: [] })',
    cannot:
      'a lane whose lease nobody ends is looked at by reserve as well, and its URLs end later; the pace alone shows it',
  },
  {
    name: 'a lane that waits for rules is not woken by them',
    of: 'changelog: callers that wait for a permit behind an unreachable robots.txt',
    file: `${SENDING}/ledger.ts`,
    text: '  await endRobotsFetch(ledger, own)\n  return result\n}\n\nasync function resolveAll',
    put: '  return result\n}\n\nasync function resolveAll',
    options: CALM,
  },
]

/** Rules of the scripts that nothing in the world comes to rely on. */
const CANNOT: Record<string, string> = {
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
    ['start does not wait until the lane is due', 'rule', OPERATORS],
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
      OPERATORS,
    ],
    ['reserve relies on gates that stood open once', 'changelog: gates', HELD],
    ['a secondary lease overlaps', 'promise 1', OTHERS],
    ['a secondary lease ignores the due time', 'promise 1', OTHERS],
    ['a hop is not noted as a robots fetch', 'changelog 0.1.0: at most one request for robots.txt is in flight', { manners: ['its robots.txt is elsewhere'], plain: 0.3, sites: 24 }],
    [
      'the pace lane of a permit owes what the permit asked for',
      'repro delay-host',
      { ...OTHERS, sites: 40, plain: 0 },
    ],
    ['the epoch is ignored', 'promises: a new run of Redis is not noticed', LOSSES],
    ['the clock may run backwards', 'changelog 0.1.0: a clock of Redis that leaps', LEAPS],
    ['a clock that is ahead is believed', 'changelog 0.1.0: a clock of Redis that leaps', LEAPS],
    ['a process that has just started is believed at once', 'decision 0014', LEAPS],
    ['leases are granted in doubt', 'decision 0014', { kinds: ['blackout'], faultEveryMs: 15_000, sites: 24, busySeconds: 60 }],
    [
      'fences begin anew with a Redis that has forgotten them',
      'spec §2: fences rise also after Redis lost its tail',
      LOSSES,
    ],
    ['an unused lease opens the lane at once', 'rule', OTHERS],
    ['a shorter Retry-After shortens', 'rule', { manners: ['asks for less now and then'], plain: 0, poolEvery: 2, workers: 12, sites: 12, faultEveryMs: 0 }],
    ['an id is not free after its outcome', 'spec §5', {}],
    ['a job that comes again stores again', 'promise 4', { kinds: ['crash point'], points: ['intake.after-store', 'intake.done'], faultEveryMs: 500, sites: 24 }],
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
    [
      'a pause holds for its own origin alone',
      'changelog: a pause holds for all schemes and ports of the host',
      HELD,
    ],
    ['a stop covers its own name alone', 'promise 10', HELD],
    ['a stop ends by the time of the ledger', 'promise 10', { ...HELD, leaps: true, kinds: ['stop', 'clock leap'] }],
    ['back-off is not noted', 'promise 2', {}],
    ['an answer opens all gates', 'promise 2', HELD],
    ['the wrong list loses its head', 'promise 4', {}],
    ['store puts a URL over the head', 'promise 4', {}],
    ['a lane with high URLs alone is forgotten', 'promise 4', {}],
    ['a lane with URLs of other crawls alone is forgotten', 'promise 4', {}],
    ['outcomes of all crawls come in one stream', 'spec §5', {}],
    ['what is in flight is cancelled', 'changelog: cancel', CANCELS],
    ['a reservation outlives the URLs that are cancelled', 'changelog: cancel', CANCELS],
    ['what was not started is completed', 'leases.md', LOSSES],
    ['start grants a second time', 'leases.md', {}],
    ['a lease that is over is extended', 'changelog: a lease whose time is over', { ...OTHERS, kinds: ['hang', 'freeze', 'slow link'] }],
    ['a lease that is over is confirmed', 'changelog: a lease whose time is over is not confirmed', { kinds: ['hang'], faultEveryMs: 20_000, sites: 24, manners: ['connects slowly'], plain: 0 }],
    ['record accepts any fence', 'promise 3', {}],
    [
      'an announced restart outlives what was granted after it',
      'promise 7',
      { kinds: ['announced restart', 'lost second'], faultEveryMs: 15_000, sites: 24, busySeconds: 60 },
    ],
  ] as const
).map(([mutant, of, options]) => ({
  name: mutant,
  mutant,
  of,
  options: { untilWrong: true, ...(options as InScripts['options'] & object) },
  ...(CANNOT[mutant] === undefined ? {} : { cannot: CANNOT[mutant] }),
}))

export const FAULTS: readonly PutBack[] = [...inCode, ...inScripts]
