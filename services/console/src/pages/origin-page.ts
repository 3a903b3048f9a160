/** The page of one origin: its state in the fleet, why its lanes wait, operators' actions, and the forms to act. Pure. */
import type { Note } from '@decorum/ledger'
import { delaySentence, policySentence } from '@decorum/politeness'
import { MAX_PATH_BYTES } from '@decorum/protocol'
import type { Problem } from '@decorum/runtime/http-api'
import type { Viewer } from '../access/sessions.ts'
import type { CheckAnswer, Operation } from '../api/answers.ts'
import type { DescribedLane, DescribedOrigin } from '../api/describe-origin.ts'
import { BACK_OFF_CAUSES, dueIn } from '../why.ts'
import { clock, count, day, length, some } from '../words.ts'
import { done, field, type Refused, select } from './forms.ts'
import { type Html, html, type Piece } from './html.ts'
import { mayAct, type Page } from './layout.ts'
import { operatorForms, restrictionsOf } from './origin-forms.ts'
import { originHeadline } from './origin-headline.ts'
import { originHistory } from './origin-history.ts'
import { banner, chip, originPath, section, stateChip, tile } from './parts.ts'
import { policyForm } from './policy-form.ts'
import { table } from './table.ts'
import { timeline } from './timeline.ts'

export type OriginPageFacts = {
  origin: DescribedOrigin
  operations: Operation[]
  /** newest first */
  notes: Note[]
  agents: readonly { name: string }[]
  /** the action just done, or the form that was refused */
  done?: Operation['action'] | 'policy' | undefined
  refused?: Refused
  policyRefused?: Refused
  /** the path that was checked, and the verdict */
  requested?: { path: string; agent: string; answer: CheckAnswer | Problem } | undefined
}

export function originPage(viewer: Viewer, facts: OriginPageFacts): Page {
  const { origin, operations, notes } = facts
  const { policy, now } = origin
  const { tone, title, sentence } = originHeadline(origin)
  const consentMs = policy?.consent === undefined ? undefined : policy.delayMs
  const body = html`${banner(tone, html`<small>${origin.origin}</small>${title}`, sentence, html`<time>${clock(now)}</time>`)}
${mayAct(viewer) ? operatorForms(origin, viewer, facts.refused) : section('Actions', '', html`<p class="none">This login may only read.</p>`)}
${known(origin, notes)}
${timeline(notes, now, consentMs)}
${section(
  'Lanes',
  'one request at a time each, then its delay',
  table(
    'Lanes',
    { Agent: 'name', State: '', Why: 'long', Delay: 'long', 'Due in': 'number', URLs: 'number', Next: 'long' },
    origin.lanes.map((lane) => laneRow(lane, origin)),
    { names: origin.lanes.map(({ agent }) => agent) },
  ),
)}
${originHistory(notes)}
${section(
  'What operators did',
  'newest first',
  table(
    'What operators did',
    { When: '', What: '', By: 'long', Reason: 'long', Until: '' },
    operations.map((one) => [day(one.at), `${one.action}${detail(one)}`, one.by, one.reason, until(one)]),
    { none: 'Nothing here yet.' },
  ),
)}
<div class="pair">${checkForm(facts)}${mayAct(viewer) && policyForm(origin, viewer, facts.policyRefused)}</div>`
  const notice = facts.done && done(`Done: ${facts.done}. It counts for the whole fleet.`)
  return { title: origin.origin, body, place: '/origins', follow: originPath(origin.origin), notice }
}

function known(origin: DescribedOrigin, notes: Note[]): Html {
  const { backOff, policy, now } = origin
  const owed = origin.lanes.flatMap(({ delay }) => delay ?? [])
  const delays = [...new Set(owed.map(({ delayMs }) => length(delayMs)))]
  const [first] = owed
  const from = first === undefined ? '' : delays.length > 1 ? 'by agent, below' : delaySentence(first, origin, length)
  const byHand = restrictionsOf(origin)
  return html`<section class="tiles wide">
${tile('robots.txt', origin.robots, robotsNote(origin))}
${tile('Delay', delays.join(' · ') || '–', from)}
${tile('Back-off', backOff === undefined ? 'none' : length(backOff.until - now), backOff === undefined ? latestAnswer(notes, now) : some(backOff.incidents, 'incident', 'incidents in a row'))}
${policy && tile('Policy', policy.site, policySentence(policy, length))}
${tile('By hand', byHand.map(({ word }) => word).join(' · ') || 'nothing', byHand.map(({ text }) => text).join('; ') || 'no operator restricts it')}
</section>`
}

/** The result of the origin's latest request, in words. @param notes  newest first */
function latestAnswer(notes: Note[], now: number): string {
  for (const note of notes) {
    const ago = `${length(Math.max(0, now - note.at))} ago`
    if (note.what === 'back-off') return `its latest request: it ${BACK_OFF_CAUSES[note.cause]}, ${ago}`
    if (note.what === 'robots')
      return `its latest answer: robots.txt ${note.status ?? note.reason ?? note.answer}, ${ago}`
    if (note.what !== 'outcome') continue
    if (note.status !== undefined) return `its latest answer: ${note.status}, ${ago}`
    if (note.kind === 'failed') return `its latest request: no answer (${note.reason}), ${ago}`
  }
  return 'no answer is noted'
}

function robotsNote({ origin, state, now }: DescribedOrigin): Piece {
  const { answer, copy, question, notBefore = 0 } = state
  const notes: Piece[] = [
    answer && `${answer.status ?? answer.reason ?? answer.kind}, ${length(now - answer.at)} ago`,
    question && question.until > now && 'being fetched now',
    notBefore > now && `not fetched for ${length(notBefore - now)}`,
    copy &&
      html`<a href="${originPath(origin)}/robots.txt">its rules${copy.at !== answer?.at && ` of ${length(now - copy.at)} ago`}</a>`,
  ].filter(Boolean)
  if (notes.length === 0) return 'fetched with its first URL'
  return notes.map((note, n) => [n > 0 && ' · ', note])
}

function laneRow({ agent, why, delay, due, head, tries, waiting }: DescribedLane, origin: DescribedOrigin): Piece[] {
  return [
    agent,
    stateChip(why.state),
    why.sentence,
    delay && delaySentence(delay, origin, length),
    dueIn({ due }, why, origin.now),
    count(waiting),
    head &&
      html`<code>${head.path.slice(0, 160)}</code>${head.priority === 'high' && html` ${chip('high', '')}`}${tries > 0 && html`<small>${some(tries, 'try', 'tries')} made</small>`}`,
  ]
}

function detail({ delayMs, dropped }: Operation): string {
  if (delayMs !== undefined) return ` of ${length(delayMs)}`
  return dropped === undefined ? '' : `: ${some(dropped, 'URL')}`
}

function until({ action, until: end }: Operation): string | undefined {
  if (end !== undefined) return day(end)
  return action === 'pause' || action === 'block' ? 'somebody ends it' : undefined
}

function checkForm({ origin, agents, requested }: OriginPageFacts): Html {
  const names = agents.map(({ name }) => [name, name] as const)
  return html`<section class="check" id="check" data-still><h2>May a path be fetched?</h2>
<form class="card" method="get" action="${originPath(origin.origin)}#check">
${field('Path', 'path', requested?.path ?? '/', { required: true, maxlength: MAX_PATH_BYTES })}
${select('Agent', 'agent', names, requested?.agent)}
<button>Check</button>
${requested && verdict(requested.answer)}
</form></section>`
}

function verdict(answer: CheckAnswer | Problem): Html {
  if (!('verdict' in answer)) return html`<p class="verdict trouble">${answer.message}</p>`
  const tone = answer.verdict === 'allowed' ? 'polite' : answer.verdict === 'disallowed' ? 'trouble' : 'halted'
  const losers = (answer.losers ?? []).map((one) => `line ${one.line}, ${one.type}: ${one.pattern}`)
  return html`<div class="verdict ${tone}"><p><b>${answer.verdict}</b> under ${answer.profile}</p><p>${answer.sentence}</p>
${losers.length > 0 && html`<p><small>also matched: ${losers.join(' · ')}</small></p>`}</div>`
}
