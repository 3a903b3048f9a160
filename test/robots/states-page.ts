/**
 * docs/states.md, printed from `step`, `judge` and `policies` themselves.
 *
 *   node test/robots/states-page.ts --write      writes the page; without --write it is printed
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AnswerKind,
  judge,
  needsRules,
  type Policy,
  parseRobots,
  policies,
  type RobotsEvent,
  type RobotsState,
  step,
  unknownOrigin,
} from '@decorum/robots'

export const STATES_PAGE = join(import.meta.dirname, '../../docs/states.md')

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const T = 1_800_000_000_000

const rules = parseRobots('user-agent: *\ndisallow: /')
const profiles = Object.values(policies)

const answered = (status: number): RobotsEvent => ({
  kind: 'answered',
  status,
  jitter: 0,
  ...(status >= 200 && status < 300 ? { hash: `body of ${status}`, etag: '"1"' } : {}),
})
const events: [name: string, event: RobotsEvent][] = [
  ['asked', { kind: 'asked', fence: 9, until: T + HOUR }],
  ...[200, 204, 206, 304, 403, 404, 429, 500, 503, 999].map((status): [string, RobotsEvent] => [
    String(status),
    answered(status),
  ]),
  ['no answer', { kind: 'unanswered', reason: 'timeout', jitter: 0 }],
  ['> 5 redirects', { kind: 'unanswered', reason: 'too-many-redirects', jitter: 0 }],
  ['redirect loop', { kind: 'unanswered', reason: 'redirect-loop', jitter: 0 }],
  ['site answered', { kind: 'site-answered' }],
]

/** What an origin is to a policy. `judge` is asked, with a path that every rule forbids, at the instant and 31 days on. */
function nameOf(state: RobotsState, policy: Policy): string {
  const asked = state.question ? ', asked' : ''
  if (!state.answer) return `unknown${asked}`
  const meaning = policy.answers[state.answer.kind]
  if (meaning === 'open') return `no file${asked}`
  if (meaning === 'obey') return `file${asked}`
  // Is there a copy that this policy would fall back on, whatever its windows are?
  const stored = needsRules(state, { ...policy, denyForMs: 0, staleForMs: HOUR * 24 * 99 }, T) !== undefined
  return `outage${stored ? ' with copy' : ''}${asked}`
}

const states: [name: string, state: RobotsState][] = [
  ['unknown', unknownOrigin],
  ['unknown, asked', step(unknownOrigin, { kind: 'asked', fence: 1, until: T + MINUTE }, T - MINUTE)],
  ['file', step(unknownOrigin, answered(200), T - HOUR)],
  [
    'file, asked',
    step(step(unknownOrigin, answered(200), T - HOUR), { kind: 'asked', fence: 1, until: T + MINUTE }, T - MINUTE),
  ],
  ['no file', step(unknownOrigin, answered(404), T - HOUR)],
  ['outage', step(unknownOrigin, { kind: 'unanswered', reason: 'dns', jitter: 0 }, T - HOUR)],
  [
    'outage with copy',
    step(step(unknownOrigin, answered(200), T - HOUR), { kind: 'unanswered', reason: 'dns', jitter: 0 }, T - MINUTE),
  ],
]

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function transitions(policy: Policy): string {
  const rows = states.map(([name, state]) => [
    `**${name}**`,
    ...events.map(([, event]) => nameOf(step(state, event, T), policy)),
  ])
  return table(['state \\ event', ...events.map(([name]) => name)], rows)
}

/** The transitions that change something, under `decorum`: events that lead the same way share an arrow. */
function diagram(): string {
  const id = (name: string): string => name.replaceAll(/[^a-z]+/g, '_')
  const arrows = new Map<string, string[]>()
  for (const [name, state] of states)
    for (const [label, event] of events) {
      const to = nameOf(step(state, event, T), policies.decorum)
      if (to === name) continue
      const arrow = `${id(name)} --> ${id(to)}`
      arrows.set(arrow, [...(arrows.get(arrow) ?? []), label])
    }
  const names = new Set(
    states.flatMap(([name, state]) => [
      name,
      ...events.map(([, event]) => nameOf(step(state, event, T), policies.decorum)),
    ]),
  )
  return [
    '```mermaid',
    'stateDiagram-v2',
    '  [*] --> unknown',
    ...[...names].map((name) => `  ${id(name)}: ${name}`),
    ...[...arrows].map(([arrow, labels]) => `  ${arrow}: ${labels.join(', ')}`),
    '```',
  ].join('\n')
}

const KINDS: [kind: AnswerKind, what: string][] = [
  ['ok', '200, or 304 to our validator'],
  ['success', '201–299 but 206'],
  ['partial', '206'],
  ['forbidden', '401, 403'],
  ['missing', 'other 4xx'],
  ['too-many-requests', '429'],
  ['server-error', '5xx but 503'],
  ['busy', '503'],
  ['other', '1xx, 3xx, above 599, 304 unasked'],
  ['no-answer', 'DNS, connect, TLS, time-out, reset, broken framing or coding'],
  ['too-many-redirects', 'more than five'],
  ['bad-redirect', 'a loop, a hop to a blocked address, port or scheme'],
]

function meanings(): string {
  const rows = KINDS.map(([kind, what]) => [`\`${kind}\``, what, ...profiles.map(({ answers }) => answers[kind])])
  return table(['kind', 'answer', ...profiles.map(({ name }) => `\`${name}\``)], rows)
}

/** What `judge` says of a forbidden path, so long after the first failure of an outage. */
function windows(withCopy: boolean): string {
  const first = withCopy ? step(unknownOrigin, answered(200), T - DAY) : unknownOrigin
  const state = step(first, { kind: 'unanswered', reason: 'timeout', jitter: 0 }, T)
  const times: [string, number][] = [
    ['at once', 1],
    ['12 h − 1 s', 12 * HOUR - SECOND],
    ['12 h + 1 s', 12 * HOUR + SECOND],
    ['24 h − 1 s', DAY - SECOND],
    ['24 h + 1 s', DAY + SECOND],
    ['30 d − 1 s', 30 * DAY - SECOND],
    ['30 d + 1 s', 30 * DAY + SECOND],
    ['1 year', 365 * DAY],
  ]
  const rows = times.map(([name, ms]) => [name, ...profiles.map((policy) => inForce(state, policy, T + ms))])
  return table(['since the first failure', ...profiles.map(({ name }) => `\`${name}\``)], rows)
}

function inForce(state: RobotsState, policy: Policy, now: number): string {
  const needed = needsRules(state, policy, now)
  const judged = judge(needed === undefined ? state : { ...state, rules }, '/x', 'a', policy, now)
  if (judged.kind === 'wait' || judged.kind === 'ask') return 'closed'
  return needed === undefined ? 'open' : 'the copy'
}

/** When the k-th question of an outage is due, each asked at once and answered the same. */
function schedule(event: RobotsEvent): string[] {
  let state = step(unknownOrigin, event, T)
  let now = T
  const delays: string[] = []
  for (let k = 0; k < 8; k++) {
    const before = now
    for (;;) {
      const judged = judge(state, '/x', 'a', policies.decorum, now)
      if (judged.kind !== 'wait') break
      now = judged.until
    }
    delays.push(`${(now - before) / SECOND} s`)
    state = step(state, event, now)
  }
  return delays
}

export function statesPage(): string {
  const retries = [
    ['503', ...schedule(answered(503))],
    ['any other failure', ...schedule({ kind: 'unanswered', reason: 'timeout', jitter: 0 })],
  ]
  return `# What is known of one origin's robots.txt

Printed by \`node test/robots/states-page.ts --write\` from \`step\`, \`judge\` and \`policies\`; a test fails when it is stale.

The state holds facts that all agents share: the fetch in flight, the last answer, the good bodies, and for each kind of
answer when it last came and how many answers came since. What these facts mean depends on the policy: the names below
are what an origin is *to a policy*. "File" is a good copy in force, "no file" is no restriction, "outage" is unreachable.

## Each state × each event, to \`decorum\`

${diagram()}

${transitions(policies.decorum)}

Not drawn: time. A fetch in flight ends by itself at its \`until\`. A file, or its absence, is fresh for as long as its headers say,
from 5 minutes to 24 hours; after four fifths of that it is fetched again, and when it has ended nothing may be fetched
before the next answer. A wait always names the instant at which it ends.

${profiles
  .filter((policy) => policy !== policies.decorum)
  .map((policy) => `## The same, to \`${policy.name}\`\n\n${transitions(policy)}`)
  .join('\n\n')}

## Each answer × each policy

\`obey\`: the body holds the rules. \`open\`: no restriction. \`unreachable\`: the rules are unknown, so the windows below apply.

${meanings()}

## An outage × time × each policy

\`closed\`: the URL waits in its lane, and robots.txt is fetched again when that is due. The tables show what applies when "no answer" came at
time 0 and nothing came since. A file, or its absence, that is still fresh applies until it is no longer fresh, even if an early refresh
failed; the windows count from the first failure in any case. With a good copy that has just stopped being fresh:

${windows(true)}

Without one:

${windows(false)}

\`google\` after 30 days: open instead while pages of the site answer (the event "site answered", within a day).

## When the next fetch is due

After the k-th failure in a row; a jitter lengthens each by up to a tenth, Retry-After (at most 24 h) is a lower bound.

${table(['failure', ...Array.from({ length: 8 }, (_, i) => String(i + 1))], retries)}
`
}

if (import.meta.main) {
  if (process.argv.includes('--write')) writeFileSync(STATES_PAGE, statesPage())
  else process.stdout.write(statesPage())
}
