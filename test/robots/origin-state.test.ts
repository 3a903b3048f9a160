/** One origin over virtual time: every state × every event, every edge, every policy, and mixed sequences of all. */
import {
  hashesOf,
  type Judgement,
  judge,
  needsRules,
  type Policy,
  parseRobots,
  policies,
  type RobotsEvent,
  type RobotsState,
  step,
  type UnansweredReason,
  unknownOrigin,
} from '@decorum/robots'
import { describe, expect, test } from 'vitest'
import { pick, random } from './support/files.ts'
import { type Happened, standing } from './support/history.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const T = 1_800_000_000_000

const rules = parseRobots('user-agent: *\ndisallow: /closed')
const { decorum, rfc9309, google, coccoc } = policies
const google2022 = policies['google-2022']

const ok = (more: object = {}): RobotsEvent => ({ kind: 'answered', status: 200, hash: 'h1', jitter: 0, ...more })
const status = (code: number, more: object = {}): RobotsEvent => ({
  kind: 'answered',
  status: code,
  jitter: 0,
  ...(code >= 200 && code < 300 ? { hash: `h${code}` } : {}),
  ...more,
})
const silence = (reason: UnansweredReason = 'timeout', more: object = {}): RobotsEvent => ({
  kind: 'unanswered',
  reason,
  jitter: 0,
  ...more,
})

/** The state after events at their instants, in ms after T. */
function told(...events: [at: number, event: RobotsEvent][]): RobotsState {
  return events.reduce((state, [at, event]) => step(state, event, T + at), unknownOrigin)
}
function ask(state: RobotsState, policy: Policy, at: number, path = '/closed'): Judgement {
  return judge(
    needsRules(state, policy, T + at) === undefined ? state : { ...state, rules },
    path,
    'me',
    policy,
    T + at,
  )
}
/** 'refused', 'allowed', 'ask', 'robots-in-flight', 'unreachable'; '+' when it is time to ask again, '~' when stale. */
function short(judged: Judgement): string {
  if (judged.kind === 'wait') return judged.why
  if (judged.kind === 'ask') return 'ask'
  return `${judged.kind}${judged.refresh ? '+' : ''}${judged.stale ? '~' : ''}`
}
const at = (state: RobotsState, policy: Policy, when: number): string => short(ask(state, policy, when))

describe('asking', () => {
  test('nothing known: ask; someone asks: wait until he must have answered; he never did: ask', () => {
    expect(at(unknownOrigin, decorum, 0)).toBe('ask')
    const asked = told([0, { kind: 'asked', fence: 1, until: T + 45 * SECOND }])
    expect(ask(asked, decorum, 0)).toEqual({ kind: 'wait', until: T + 45 * SECOND, why: 'robots-in-flight' })
    expect(at(asked, decorum, 45 * SECOND - 1)).toBe('robots-in-flight')
    expect(at(asked, decorum, 45 * SECOND)).toBe('ask')
  })
  test('two askers: the higher fence is the one under way; an answer ends the question', () => {
    const two = told(
      [0, { kind: 'asked', fence: 2, until: T + 60 * SECOND }],
      [1, { kind: 'asked', fence: 1, until: T + 90 * SECOND }],
    )
    expect(two.question).toEqual({ fence: 2, until: T + 60 * SECOND })
    expect(step(two, ok(), T + 5).question).toBeUndefined()
    expect(step(two, silence(), T + 5).question).toBeUndefined()
  })
  test('/robots.txt itself is allowed whatever is known', () => {
    for (const state of [unknownOrigin, told([0, ok()]), told([0, silence()])])
      expect(judge(state, 'https://h.example/robots.txt', 'me', decorum, T)).toMatchObject({
        kind: 'allowed',
        why: 'robots.txt',
      })
  })
  test('while a copy holds, a question under way stalls nothing and is not asked twice', () => {
    const refreshing = told([0, ok()], [20 * HOUR, { kind: 'asked', fence: 2, until: T + 20 * HOUR + MINUTE }])
    expect(at(refreshing, decorum, 20 * HOUR)).toBe('refused')
    expect(at(refreshing, decorum, 20 * HOUR + MINUTE)).toBe('refused+')
  })
  test('rules that are needed and not given are a bug of the caller', () => {
    expect(() => judge(told([0, ok()]), '/x', 'me', decorum, T)).toThrow('h1')
    expect(() => step(unknownOrigin, { kind: 'answered', status: 200, jitter: 0 }, T)).toThrow(TypeError)
  })
})

describe('keeping', () => {
  test('a good answer is fresh for 24 h; after four fifths of that it is time to ask again', () => {
    const state = told([0, ok()])
    expect(at(state, decorum, 0.8 * DAY - 1)).toBe('refused')
    expect(at(state, decorum, 0.8 * DAY)).toBe('refused+')
    expect(at(state, decorum, DAY - SECOND)).toBe('refused+')
    expect(at(state, decorum, DAY)).toBe('ask')
    expect(at(state, decorum, DAY + SECOND)).toBe('ask')
  })
  test('expired, and someone asks: wait', () => {
    const state = told([0, ok()], [DAY, { kind: 'asked', fence: 9, until: T + DAY + MINUTE }])
    expect(at(state, decorum, DAY)).toBe('robots-in-flight')
  })
  test.each([
    [0, 5 * MINUTE],
    [MINUTE, 5 * MINUTE],
    [2 * HOUR, 2 * HOUR],
    [DAY, DAY],
    [365 * DAY, DAY],
    [Infinity, DAY],
    [-1, 5 * MINUTE],
    [Number.NaN, 5 * MINUTE],
  ])('cache headers say %s ms: fresh for %s ms', (said, fresh) => {
    for (const code of [200, 404]) {
      const state = JSON.parse(JSON.stringify(told([0, status(code, { freshForMs: said })]))) as RobotsState
      expect(at(state, decorum, fresh - 1)).not.toBe('ask')
      expect(at(state, decorum, fresh)).toBe('ask')
    }
  })
  test('no file is kept as long, and asked for again before', () => {
    const state = told([0, status(404)])
    expect(ask(state, decorum, 1)).toEqual({ kind: 'allowed', why: 'unavailable', refresh: false, stale: false })
    expect(at(state, decorum, 0.8 * DAY)).toBe('allowed+')
    expect(at(state, decorum, DAY)).toBe('ask')
  })
  test('304 to our own validator renews the copy, and takes over a new validator', () => {
    const state = told(
      [0, ok({ etag: '"1"', lastModified: 'then' })],
      [20 * HOUR, status(304, { etag: '"2"', freshForMs: HOUR })],
    )
    expect(state.copy).toEqual({ kind: 'ok', hash: 'h1', at: T + 20 * HOUR, etag: '"2"', lastModified: 'then' })
    expect(at(state, decorum, 21 * HOUR - 1)).toBe('refused+')
    expect(at(state, decorum, 21 * HOUR)).toBe('ask')
  })
  test('304 that we did not ask for is no answer to obey', () => {
    expect(at(told([0, status(304)]), decorum, 1)).toBe('unreachable')
    expect(at(told([0, ok()], [DAY, status(304)]), decorum, DAY + 1)).toBe('unreachable')
    expect(at(told([0, status(304)]), coccoc, 1)).toBe('allowed')
  })
  test('a new body takes the place of the old one; both kinds of success are kept while a policy may need them', () => {
    const state = told([0, ok()], [1, ok({ hash: 'h2' })], [2, status(206)], [3, status(204)])
    expect(state.copy?.hash).toBe('h204')
    expect(hashesOf(state).sort()).toEqual(['h2', 'h204', 'h206'])
  })
})

describe('asking again', () => {
  /** Instants of the questions when each is asked as soon as it is due, and always answered so. */
  function schedule(policy: Policy, event: RobotsEvent, count: number): number[] {
    let state = told([0, event])
    const due: number[] = []
    let now = 0
    for (let i = 0; i < count; i++) {
      for (
        let judged = ask(state, policy, now, '/robots');
        judged.kind === 'wait';
        judged = ask(state, policy, now, '/robots')
      )
        now = judged.until - T
      due.push(now)
      state = step(state, event, T + now)
    }
    return due.map((instant, i) => instant - (due[i - 1] ?? 0))
  }
  test('60 s, doubling to 1 h', () => {
    expect(schedule(decorum, silence(), 8)).toEqual(
      [60, 120, 240, 480, 960, 1_920, 3_600, 3_600].map((s) => s * SECOND),
    )
    expect(schedule(decorum, status(500), 3)).toEqual([60, 120, 240].map((s) => s * SECOND))
  })
  test('503 is asked more often: 30 s, doubling to 5 min', () => {
    expect(schedule(decorum, status(503), 6)).toEqual([30, 60, 120, 240, 300, 300].map((s) => s * SECOND))
  })
  test('jitter only lengthens, by a tenth at most', () => {
    expect(ask(told([0, silence('timeout', { jitter: 0.999 })]), decorum, 0)).toMatchObject({ until: T + 65_994 })
    expect(ask(told([0, silence('timeout', { jitter: 7 })]), decorum, 0)).toMatchObject({ until: T + 66_000 })
    expect(ask(told([0, silence('timeout', { jitter: Number.NaN })]), decorum, 0)).toMatchObject({ until: T + 60_000 })
  })
  test('Retry-After is a lower bound, and is never shortened by a later answer', () => {
    expect(ask(told([0, status(503, { retryAfterMs: HOUR })]), decorum, 0)).toMatchObject({ until: T + HOUR })
    expect(ask(told([0, status(503, { retryAfterMs: SECOND })]), decorum, 0)).toMatchObject({ until: T + 30 * SECOND })
    expect(ask(told([0, status(503, { retryAfterAt: T + HOUR })]), decorum, 0)).toMatchObject({ until: T + HOUR })
    expect(told([0, status(503, { retryAfterAt: T - HOUR })]).notBefore, 'a date that is past').toBeUndefined()
    expect(
      ask(
        told([0, status(503, { retryAfterMs: HOUR })], [MINUTE, status(503, { retryAfterMs: MINUTE })]),
        decorum,
        2 * MINUTE,
      ),
    ).toMatchObject({ until: T + HOUR })
    expect(
      ask(told([0, status(429, { retryAfterMs: 2 * HOUR })], [MINUTE, silence()]), decorum, 2 * MINUTE),
    ).toMatchObject({ until: T + 2 * HOUR })
  })
  test('a good answer lifts it', () => {
    const state = told([0, status(503, { retryAfterMs: DAY })], [HOUR, ok()], [2 * DAY, silence()])
    expect(ask(state, decorum, 2 * DAY)).toMatchObject({ kind: 'wait', until: T + 2 * DAY + MINUTE })
  })
  test('it is at most a day, whoever read the header and whatever the status', () => {
    for (const event of [
      status(503, { retryAfterMs: 99 * DAY }),
      status(503, { retryAfterAt: T + 99 * DAY }),
      status(404, { retryAfterMs: 99 * DAY }),
    ])
      expect(told([0, event]).notBefore).toBe(T + DAY)
    expect(told([0, silence('timeout', { retryAfterMs: Infinity })]).notBefore).toBe(T + DAY)
  })
  test('an operator may set the first retry: it is the policy that says when, not the state', () => {
    const state = told([0, silence()], [1, status(503)])
    expect(ask(state, { ...decorum, firstRetryMs: 100 }, 1)).toMatchObject({ until: T + 1 + 200 })
    expect(ask(state, { ...decorum, firstRetryMs: 2 * HOUR }, 1)).toMatchObject({ until: T + 1 + 60 * SECOND })
    expect(ask(told([0, silence()]), { ...decorum, firstRetryMs: 2 * HOUR }, 1)).toMatchObject({ until: T + 2 * HOUR })
  })
  test('recovery ends the outage, and the next one starts from the beginning', () => {
    const state = told([0, silence()], [MINUTE, silence()], [3 * MINUTE, ok()], [2 * DAY, silence()])
    expect(at(told([0, silence()], [MINUTE, ok()]), decorum, MINUTE)).toBe('refused')
    expect(ask(state, decorum, 2 * DAY)).toMatchObject({ until: T + 2 * DAY + MINUTE })
  })
})

describe('while unreachable', () => {
  /** Asked once and never again, so that only the windows show: verdict at an instant after the first failure. */
  const bare = told([0, status(500)])
  const withCopy = told([-DAY, ok()], [0, status(500)])
  const shown = (state: RobotsState, policy: Policy, when: number): string =>
    at(state, policy, when)
      .replace(/^(ask|unreachable)$/, 'closed')
      .replace('+', '')

  test.each<[string, Policy, RobotsState, [number, string][]]>([
    [
      'rfc9309 with a copy',
      rfc9309,
      withCopy,
      [
        [0, 'closed'],
        [DAY - SECOND, 'closed'],
        [DAY + SECOND, 'refused~'],
        [30 * DAY - SECOND, 'refused~'],
        [30 * DAY + SECOND, 'allowed~'],
      ],
    ],
    [
      'rfc9309 without',
      rfc9309,
      bare,
      [
        [0, 'closed'],
        [DAY + SECOND, 'closed'],
        [30 * DAY - SECOND, 'closed'],
        [30 * DAY + SECOND, 'allowed~'],
      ],
    ],
    [
      'google-2022 with a copy',
      google2022,
      withCopy,
      [
        [0, 'closed'],
        [12 * HOUR + SECOND, 'closed'],
        [30 * DAY - SECOND, 'closed'],
        [30 * DAY + SECOND, 'refused~'],
      ],
    ],
    [
      'google-2022 without',
      google2022,
      bare,
      [
        [30 * DAY - SECOND, 'closed'],
        [30 * DAY + SECOND, 'allowed~'],
      ],
    ],
    [
      'google with a copy',
      google,
      withCopy,
      [
        [12 * HOUR - SECOND, 'closed'],
        [12 * HOUR + SECOND, 'refused~'],
        [30 * DAY - SECOND, 'refused~'],
        [30 * DAY + SECOND, 'closed'],
      ],
    ],
    [
      'google without',
      google,
      bare,
      [
        [12 * HOUR - SECOND, 'closed'],
        [12 * HOUR + SECOND, 'allowed~'],
        [30 * DAY - SECOND, 'allowed~'],
        [30 * DAY + SECOND, 'closed'],
      ],
    ],
    ['coccoc, 5xx', coccoc, bare, [[0, 'allowed']]],
    [
      'coccoc, silence',
      coccoc,
      told([-DAY, ok()], [0, silence()]),
      [
        [0, 'closed'],
        [12 * HOUR + SECOND, 'closed'],
        [31 * DAY, 'closed'],
        [3_650 * DAY, 'closed'],
      ],
    ],
    [
      'decorum with a copy',
      decorum,
      withCopy,
      [
        [0, 'closed'],
        [12 * HOUR - SECOND, 'closed'],
        [12 * HOUR + SECOND, 'refused~'],
        [30 * DAY - SECOND, 'refused~'],
        [30 * DAY + SECOND, 'closed'],
      ],
    ],
    [
      'decorum without',
      decorum,
      bare,
      [
        [0, 'closed'],
        [12 * HOUR + SECOND, 'closed'],
        [30 * DAY + SECOND, 'closed'],
      ],
    ],
  ])('%s', (_, policy, state, expected) => {
    expect(expected.map(([when]) => [when, shown(state, policy, when)])).toEqual(expected)
  })
  test('the edges are exact: the window ends at its instant, not after it', () => {
    expect(shown(withCopy, decorum, 12 * HOUR - 1)).toBe('closed')
    expect(shown(withCopy, decorum, 12 * HOUR)).toBe('refused~')
    expect(shown(withCopy, decorum, 30 * DAY - 1)).toBe('refused~')
    expect(shown(withCopy, decorum, 30 * DAY)).toBe('closed')
  })
  test('a refresh that fails while the copy is fresh changes nothing but when to ask again', () => {
    const state = told(
      [0, ok()],
      [20 * HOUR, { kind: 'asked', fence: 2, until: T + 21 * HOUR }],
      [20 * HOUR + SECOND, status(503)],
    )
    for (const policy of Object.values(policies).filter(({ name }) => name !== 'coccoc'))
      expect([20 * HOUR + 2 * SECOND, DAY - 1].map((when) => at(state, policy, when).replace('+', ''))).toEqual([
        'refused',
        'refused',
      ])
    expect(at(state, decorum, 20 * HOUR + 2 * SECOND), 'not yet').toBe('refused')
    expect(at(state, decorum, 20 * HOUR + 31 * SECOND), 'now it is due').toBe('refused+')
    // Then the windows apply, counted since the first failure.
    expect(at(state, decorum, DAY)).toBe('ask')
    expect(at(state, decorum, 32 * HOUR)).toBe('ask')
    expect(at(state, decorum, 32 * HOUR + SECOND)).toBe('refused+~')
    expect(at(step(state, ok(), T + 21 * HOUR), decorum, 21 * HOUR)).toBe('refused')
  })
  test('how long the copy is fresh is what its own headers said, not what a later failure did', () => {
    const short = told([0, ok({ freshForMs: HOUR })], [50 * MINUTE, status(503, { freshForMs: DAY })])
    expect(at(short, decorum, HOUR - 1)).toBe('refused+')
    expect(at(short, decorum, HOUR)).toBe('ask')
  })
  test('no file stays no restriction while that answer is fresh', () => {
    const state = told([0, status(404)], [20 * HOUR, silence()])
    expect(ask(state, decorum, 21 * HOUR)).toEqual({ kind: 'allowed', why: 'unavailable', refresh: true, stale: false })
    expect(at(state, decorum, DAY)).toBe('ask')
  })
  test('google after 30 days: open while pages of the site answer', () => {
    const state = step(withCopy, { kind: 'site-answered' }, T + 30 * DAY)
    expect(shown(state, google, 30 * DAY + SECOND)).toBe('allowed~')
    expect(shown(state, google, 31 * DAY + SECOND)).toBe('closed')
    expect(shown(state, decorum, 30 * DAY + SECOND)).toBe('closed')
  })
  test('while a stale copy rules, each due question is a refresh and none a stall', () => {
    expect(at(withCopy, decorum, 13 * HOUR)).toBe('refused+~')
    const asking = step(withCopy, { kind: 'asked', fence: 3, until: T + 14 * HOUR }, T + 13 * HOUR)
    expect(at(asking, decorum, 13 * HOUR)).toBe('refused~')
    const failed = step(asking, silence(), T + 13 * HOUR + SECOND)
    expect(at(failed, decorum, 13 * HOUR + 2 * SECOND)).toBe('refused~')
    expect(at(failed, decorum, 13 * HOUR + 2 * MINUTE + SECOND)).toBe('refused+~')
  })
  test('a wait ends when the next question is due, or when a window does', () => {
    const late = told([0, silence()], [12 * HOUR - MINUTE, silence()], [12 * HOUR - 30 * SECOND, silence()])
    const judged = ask(late, google, 12 * HOUR - 20 * SECOND)
    expect(judged).toEqual({ kind: 'wait', until: T + 12 * HOUR, why: 'unreachable' })
    expect(at(late, google, 12 * HOUR)).toBe('allowed~')
  })
  test('without a file before it, an outage has no copy to fall back on', () => {
    expect(shown(told([-2 * DAY, ok()], [-DAY, status(404)], [0, status(500)]), decorum, 13 * HOUR)).toBe('closed')
    expect(shown(told([-2 * DAY, ok()], [-DAY, status(404)], [0, status(500)]), google, 13 * HOUR)).toBe('allowed~')
  })
})

describe('one state, several policies', () => {
  test('429: an outage to decorum and google, no restriction to rfc9309 and coccoc', () => {
    const state = told([0, ok()], [DAY, status(429)])
    expect([decorum, google, rfc9309, coccoc].map((policy) => at(state, policy, DAY + 1))).toEqual([
      'unreachable',
      'unreachable',
      'allowed',
      'allowed',
    ])
  })
  test('206: obeyed, unreachable, no restriction', () => {
    const state = told([0, status(206)])
    expect([rfc9309, google, decorum, coccoc].map((policy) => at(state, policy, 1))).toEqual([
      'refused',
      'refused',
      'unreachable',
      'allowed',
    ])
  })
  test('an outage begins, for each policy, with its own first failure', () => {
    // coccoc calls the 500 an answer, so its outage is as young as the silence.
    const state = told([0, status(500)], [10 * HOUR, silence()])
    expect(ask(state, decorum, 10 * HOUR)).toMatchObject({ until: T + 10 * HOUR + 2 * MINUTE })
    expect(ask(state, coccoc, 10 * HOUR)).toMatchObject({ until: T + 10 * HOUR + MINUTE })
    expect(at(state, google, 12 * HOUR)).toBe('allowed+~')
  })
  test('10,000 mixed histories: facts folded by step stand, under every policy, where the whole history stands', () => {
    const seed = Number(process.env.ROBOTS_SEED ?? Math.floor(Math.random() * 2 ** 31))
    console.info(`ROBOTS_SEED=${seed}`)
    const reasons: UnansweredReason[] = [
      'dns',
      'nxdomain',
      'connect',
      'tls',
      'timeout',
      'reset',
      'protocol',
      'decoding',
      'too-many-redirects',
      'redirect-loop',
      'blocked-address',
      'blocked-port',
      'blocked-scheme',
      'blocked-hop',
      'no-contact',
    ]
    for (let n = 0; n < 10_000; n++) {
      const next = random(seed + n)
      let now = T
      let state: RobotsState = unknownOrigin
      const history: Happened[] = []
      for (let i = Math.floor(next() * 12); i > 0; i--) {
        now += pick(next, [0, 1, SECOND, MINUTE, HOUR, 5 * HOUR, DAY, 9 * DAY])
        const code = pick(next, [200, 200, 200, 201, 204, 206, 301, 304, 304, 401, 404, 429, 500, 503, 999])
        const event: RobotsEvent =
          next() < 0.3
            ? silence(pick(next, reasons), next() < 0.2 ? { retryAfterMs: HOUR } : {})
            : next() < 0.1
              ? { kind: 'site-answered' }
              : status(code, {
                  ...(code < 300 ? { hash: `h${i}` } : {}),
                  ...(next() < 0.5 ? { etag: 'e' } : {}),
                  ...(next() < 0.3 ? { freshForMs: pick(next, [0, HOUR, 99 * DAY]) } : {}),
                  ...(next() < 0.2 ? { retryAfterMs: pick(next, [MINUTE, 5 * HOUR]) } : {}),
                })
        history.push({ at: now, event })
        state = JSON.parse(JSON.stringify(step(state, event, now))) as RobotsState
      }
      if (JSON.stringify(state).length > 2_000) throw new Error(`${JSON.stringify(state).length} octets of state`)
      now += pick(next, [0, 1, MINUTE, 6 * HOUR, 13 * HOUR, 2 * DAY, 31 * DAY])
      for (const policy of Object.values(policies)) {
        const where = standing(history, policy, now)
        const needed = needsRules(state, policy, now)
        const judged = judge(needed === undefined ? state : { ...state, rules }, '/closed', 'me', policy, now)
        const complain = (): never => {
          throw new Error(
            `seed ${seed + n}, ${policy.name}: ${JSON.stringify(where)} ${needed} ${JSON.stringify(judged)}\n${JSON.stringify(history, undefined, 1)}\n${JSON.stringify(state)}`,
          )
        }
        if (needed !== undefined && !hashesOf(state).includes(needed)) complain()
        if (
          (where.kind === 'unknown' || where.kind === 'expired') !== (judged.kind === 'ask' && where.kind !== 'outage')
        )
          complain()
        if (where.kind === 'fresh' && (needed !== where.hash || judged.kind !== (where.hash ? 'refused' : 'allowed')))
          complain()
        if (where.kind !== 'outage') continue
        if (where.freshUntil !== undefined && now < where.freshUntil) {
          if (needed !== where.copy || judged.kind !== (where.copy ? 'refused' : 'allowed') || judged.stale) complain()
          continue
        }
        const elapsed = now - where.since
        const answered = state.siteAnsweredAt !== undefined && now - state.siteAnsweredAt < DAY
        const late = {
          refuse: 'closed',
          open: 'open',
          'copy-or-open': where.copy ?? 'open',
          'open-if-site-answers': answered ? 'open' : 'closed',
        }
        const expected =
          elapsed < policy.denyForMs && elapsed < policy.staleForMs
            ? 'closed'
            : elapsed < policy.staleForMs
              ? (where.copy ?? (policy.withoutCopy === 'open' ? 'open' : 'closed'))
              : late[policy.afterwards]
        const got = judged.kind === 'wait' || judged.kind === 'ask' ? 'closed' : (needed ?? 'open')
        if (got !== expected) complain()
      }
    }
  })
})
