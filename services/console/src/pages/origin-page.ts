/** The page of one origin: its state in the fleet, why its lanes wait, operators' actions, and the forms to act. Pure. */
import type { Note } from '@decorum/ledger'
import { delaySentence, policySentence } from '@decorum/politeness'
import { MAX_PATH_BYTES } from '@decorum/protocol'
import type { Problem } from '@decorum/runtime/http-api'
import type { CheckAnswer, Operation } from '../api/answers.ts'
import type { DescribedLane, DescribedOrigin } from '../api/describe-origin.ts'
import { dueIn } from '../why.ts'
import { clock, count, day, lasting, length, some } from '../words.ts'
import { type Html, html, type Piece } from './html.ts'
import { type Frame, layout } from './layout.ts'
import { type FormFields, operatorForms } from './origin-forms.ts'
import { originHeadline } from './origin-headline.ts'
import { CAUSES, originHistory } from './origin-history.ts'
import { policyForm } from './policy-form.ts'
import { table } from './table.ts'
import { timeline } from './timeline.ts'

export type OriginFacts = { origin: DescribedOrigin; operations: Operation[]; notes: Note[] }
export type OriginPageFacts = OriginFacts & {
  frame: Frame
  agents: { key: string; name: string }[]
  /** the operator, if the form does not name one */
  by: string
  /** the action just done, or why not; `fields` are shown again */
  done?: Operation['action'] | 'policy' | undefined
  problem?: { problem: Problem; fields: FormFields } | undefined
  /** the same for the form of the site's policy */
  policyProblem?: { problem: Problem; fields: FormFields } | undefined
  /** the path that was checked, and the verdict */
  asked?: { path: string; agent: string; answer?: CheckAnswer; problem?: Problem } | undefined
}

export function originPage(facts: OriginPageFacts): string {
  const { origin, done, problem, frame } = facts
  const at = `/origins/${encodeURIComponent(origin.origin)}`
  const notice =
    done !== undefined && html`<p class="notice" role="status">Done: ${done}. It counts for the whole fleet.</p>`
  const actions = frame.who?.role === 'read' ? LOOKS_ONLY : operatorForms(origin, facts.by, problem)
  const body = html`<main>
${notice}<div data-follow="${at}/facts">${originFacts(facts, actions)}</div>
<div class="pair">${checkForm(facts)}${frame.who?.role === 'read' ? undefined : policyForm(origin, facts.by, facts.policyProblem)}</div>
</main>`
  return layout({ title: `${origin.origin} · Decorum`, body, frame, place: '/origins' })
}

const LOOKS_ONLY = html`<section><h2>Actions</h2><p class="none">This login may look and change nothing.</p></section>`

/** The parts that change between updates. @param actions  the forms, which are not updated; undefined: none */
export function originFacts({ origin, operations, notes }: OriginFacts, actions?: Html): Html {
  const head = originHeadline(origin)
  const { policy } = origin
  const consentMs = policy?.consent === undefined ? undefined : policy.delayMs
  return html`<section class="headline ${head.tone}" role="status"><h1><small>${origin.origin}</small>${head.title}</h1><time>${clock(origin.now)}</time><p>${head.sentence}</p></section>
<div id="hand" data-still>${actions}</div>
${known(origin, notes)}
${timeline(notes, origin.now, consentMs)}
${lanesTable(origin)}
${originHistory(notes)}
${operationsTable(operations)}`
}

function known(origin: DescribedOrigin, notes: Note[]): Html {
  const { backOff, paused, blocked, override, policy, now } = origin
  const delays = [...new Set(origin.lanes.flatMap(({ delay }) => (delay === undefined ? [] : [delay.delayMs])))]
  const [first] = origin.lanes.flatMap(({ delay }) => (delay === undefined ? [] : [delay]))
  const delay = delays.length === 0 ? '–' : delays.map(length).join(' · ')
  const from = first === undefined ? '' : delays.length > 1 ? 'by agent, below' : delaySentence(first, origin, length)
  const hand = [
    blocked && { word: 'blocked', long: `blocked ${lasting(blocked.until, now)}` },
    paused && { word: 'paused', long: `paused ${lasting(paused.until, now)}` },
    override && { word: 'delay', long: `delay of ${length(override.delayMs)} ${lasting(override.until, now)}` },
  ].filter((one) => one !== undefined)
  const words = hand.map(({ word }) => word).join(' · ')
  const longs = hand.map(({ long }) => long).join('; ')
  return html`<section class="tiles wide">
${tile('robots.txt', origin.robots, robotsNote(origin))}
${tile('Delay', delay, from)}
${tile('Back-off', backOff === undefined ? 'none' : length(backOff.until - now), backOff === undefined ? latestAnswer(notes, now) : `${some(backOff.incidents, 'incident')} in a row`)}
${policy === undefined ? '' : tile('Policy', policy.site, policySentence(policy, length))}
${tile('By hand', words === '' ? 'nothing' : words, longs === '' ? 'no operator restricts it' : longs)}
</section>`
}

/** The result of its latest request. @param notes  newest first */
function latestAnswer(notes: Note[], now: number): string {
  for (const note of notes) {
    const ago = `${length(Math.max(0, now - note.at))} ago`
    if (note.what === 'back-off') return `its latest request: ${CAUSES[note.cause]}, ${ago}`
    if (note.what === 'robots')
      return `its latest answer: robots.txt ${note.status ?? note.reason ?? note.answer}, ${ago}`
    if (note.what !== 'outcome') continue
    if (note.status !== undefined) return `its latest answer: ${note.status}, ${ago}`
    if (note.kind === 'failed') return `its latest request: no answer (${note.reason}), ${ago}`
  }
  return 'no answer is noted'
}

const tile = (label: string, value: string, note: Piece): Html =>
  html`<div class="tile"><h2>${label}</h2><b>${value}</b><small>${note}</small></div>`

function robotsNote({ origin, state, now }: DescribedOrigin): Piece {
  const { answer, copy, question, notBefore } = state
  const notes: Piece[] = []
  if (answer !== undefined)
    notes.push(`${answer.status ?? answer.reason ?? answer.kind}, ${length(now - answer.at)} ago`)
  if (question !== undefined && question.until > now) notes.push('being asked right now')
  if (notBefore !== undefined && notBefore > now) notes.push(`not to be asked for ${length(notBefore - now)}`)
  if (copy !== undefined) {
    const age = copy.at === answer?.at ? '' : ` of ${length(now - copy.at)} ago`
    notes.push(html`<a href="/origins/${encodeURIComponent(origin)}/robots.txt">its rules${age}</a>`)
  }
  if (notes.length === 0) return 'asked with its first URL'
  return notes.flatMap((note, i) => (i === 0 ? [note] : [' · ', note]))
}

function lanesTable(origin: DescribedOrigin): Html {
  return html`<section><h2>Lanes<small>one request at a time each, then its delay</small></h2>
${table(
  'Lanes',
  LANE_COLUMNS,
  origin.lanes.map((lane) => laneRow(lane, origin)),
  origin.lanes.map(({ agent }) => agent),
)}</section>`
}

const LANE_COLUMNS = [
  ['Agent', 'name'],
  'State',
  ['Why', 'long'],
  ['Delay', 'long'],
  ['Due in', 'number'],
  ['URLs', 'number'],
  ['Next', 'long'],
] as const

function laneRow(lane: DescribedLane, origin: DescribedOrigin): Piece[] {
  const { why, delay, head } = lane
  const tries = lane.tries > 0 ? html`<small>${some(lane.tries, 'try', 'tries')} made</small>` : ''
  const next =
    head === undefined
      ? '–'
      : html`<code>${head.path.slice(0, 160)}</code>${head.priority === 'high' && html` <span class="chip">high</span>`}${tries}`
  return [
    lane.agent,
    html`<span class="chip ${why.state.replace(' ', '-')}">${why.state}</span>`,
    why.sentence,
    delay === undefined ? '–' : delaySentence(delay, origin, length),
    dueIn(lane, why, origin.now),
    count(lane.waiting),
    next,
  ]
}

function operationsTable(operations: Operation[]): Html {
  if (operations.length === 0)
    return html`<section><h2>What operators did</h2><p class="none">Nothing here yet.</p></section>`
  const rows = operations.map((one) => [day(one.at), `${one.action}${detail(one)}`, one.by, one.reason, until(one)])
  return html`<section><h2>What operators did<small>newest first</small></h2>
${table('What operators did', ['When', 'What', ['By', 'long'], ['Reason', 'long'], 'Until'], rows)}</section>`
}

function detail({ delayMs, dropped }: Operation): string {
  if (delayMs !== undefined) return ` of ${length(delayMs)}`
  return dropped === undefined ? '' : `: ${some(dropped, 'URL')}`
}

function until({ action, until: end }: Operation): string {
  if (end !== undefined) return day(end)
  return action === 'pause' || action === 'block' ? 'somebody ends it' : '–'
}

function checkForm({ origin, agents, asked }: OriginPageFacts): Html {
  const options = agents.map(
    ({ key, name }) =>
      html`<option value="${name}"${asked?.agent.toLowerCase() === key && html` selected`}>${name}</option>`,
  )
  return html`<section class="check"><h2>May a path be fetched?</h2>
<form class="card" method="get" action="/origins/${encodeURIComponent(origin.origin)}#check" id="check">
<label>Path<input name="path" type="text" value="${asked?.path ?? '/'}" required maxlength="${MAX_PATH_BYTES}"></label>
<label>Agent<select name="agent">${options}</select></label>
<button>Check</button>
${asked !== undefined && verdict(asked)}
</form></section>`
}

function verdict({ answer, problem }: NonNullable<OriginPageFacts['asked']>): Html {
  if (answer === undefined) return html`<p class="verdict trouble">${problem?.message ?? ''}</p>`
  const load = answer.verdict === 'allowed' ? 'polite' : answer.verdict === 'disallowed' ? 'trouble' : 'halted'
  const losers = answer.losers ?? []
  return html`<div class="verdict ${load}"><p><b>${answer.verdict}</b> under ${answer.profile}</p><p>${answer.sentence}</p>
${losers.length > 0 && html`<p><small>also matched: ${losers.map((one) => `line ${one.line}, ${one.type}: ${one.pattern}`).join(' · ')}</small></p>`}</div>`
}
