/** `decorum origin ORIGIN`: shows the fleet's state of one origin, and runs operators' actions on it. */

import type { Agent, Agents } from '@decorum/config'
import { lasting, length } from '@decorum/console/words'
import { type Note, toleratedIn } from '@decorum/ledger'
import { type LaneView, type OriginView, openLedgerWithViews } from '@decorum/ledger/views'
import { delayOwed, delaySentence, policySentence } from '@decorum/politeness'
import { printableAll } from '@decorum/protocol'
import { type Judgement, judge, needsRules, parseRobots, policies, type RobotsState } from '@decorum/robots'
import { agreedSettings } from '../agreed-settings.ts'
import { DONE, type ExitCode, STOPPED } from '../exit.ts'
import { catchInterrupt } from '../interrupt.ts'
import { runningRedis } from '../running-redis.ts'
import { some } from '../say.ts'
import { printResult, warn } from '../terminal.ts'
import { readTarget } from '../typed.ts'
import { type ActionOptions, act, readAction } from './origin-action.ts'

export type OriginOptions = ActionOptions & { json?: boolean }

/** Runs the requested action, then shows the origin. */
export async function origin(text: string, options: OriginOptions): Promise<ExitCode> {
  const settings = await agreedSettings()
  const site = readTarget(text).origin
  const action = readAction(options)
  const { agents } = settings
  const ledger = await openLedgerWithViews({ ...settings, redis: await runningRedis() })
  const interrupt = catchInterrupt(() => process.exit(1))
  try {
    const done = action === undefined ? '' : `${await act(ledger, site, action, agents, interrupt.signal)}\n`
    const keys = agents.list.map((agent) => agent.key)
    const view = await ledger.viewOrigin(site, keys)
    const notes = await ledger.notesOf(site)
    const tolerated = Object.fromEntries(toleratedIn(notes))
    printResult(options.json, { ...view, tolerated }, done + printOrigin(view, agents, notes))
    return DONE
  } catch (error) {
    if (!interrupt.signal.aborted) throw error
    warn('stopped: each URL that was dropped has its outcome, the others wait')
    return STOPPED
  } finally {
    interrupt.release()
    await ledger.close()
  }
}

/** One fact per line: robots, pause, back-off, tolerated faults, then each agent's delay and lane. */
export function printOrigin(known: OriginView, agents: Agents, notes: readonly Note[] = []): string {
  const view = printableAll(known)
  const { now, backOff, paused, blocked, override } = view
  const lines = [view.origin, ...robotsLines(view.state, now)]
  if (blocked !== undefined) lines.push(`  blocked    ${lasting(blocked.until, now)}: ${blocked.reason}`)
  if (paused !== undefined) lines.push(`  paused     ${lasting(paused.until, now)}: ${paused.reason}`)
  if (override !== undefined) {
    const { delayMs, until, reason } = override
    lines.push(`  by hand    a delay of ${length(delayMs)} ${lasting(until, now)}: ${reason}`)
  }
  if (backOff !== undefined) {
    const times = backOff.incidents > 1 ? `, ${backOff.incidents} incidents in a row` : ''
    lines.push(`  back-off   ${lasting(backOff.until, now)}${times}`)
  }
  if (view.policy !== undefined) lines.push(`  policy     ${policySentence(view.policy, length)}`)
  const overlooked = toleratedIn(notes).map(([mark, times]) => `${mark} ${times}`)
  if (overlooked.length > 0) lines.push(`  overlooked ${overlooked.join(', ')} (faults, among its latest notes)`)
  for (const agent of agents.list) {
    const lane = view.lanes.find((one) => one.agent === agent.key)
    lines.push(`  agent      ${agent.name} (profile ${agent.profile})`, `    may      ${mayWord(view, agent)}`)
    lines.push(`    delay    ${delaySentence(delayOwed(view, agent), view, length)}`)
    if (lane !== undefined) lines.push(`    lane     ${laneWord(lane, now)}`)
  }
  return lines.join('\n')
}

function robotsLines(state: RobotsState, now: number): string[] {
  const { question, answer, copy } = state
  const fetching = question !== undefined && question.until > now ? ['  robots     being fetched right now'] : []
  if (answer === undefined) return fetching.length > 0 ? fetching : ['  robots     never fetched']
  const result = answer.status ?? answer.reason ?? answer.kind
  const lines = [...fetching, `  robots     answered ${result}, ${length(now - answer.at)} ago`]
  if (copy !== undefined) lines.push(`  rules      of ${length(now - copy.at)} ago, ${copy.hash}`)
  return lines
}

/** Whether pages may be requested at all now, under the agent's policy; individual rules are not checked. */
function mayWord(view: OriginView, agent: Agent): string {
  const policy = policies[agent.profile]
  if (needsRules(view.state, policy, view.now) !== undefined) return 'as its rules say (decorum check URL)'
  const judgement: Judgement = judge({ ...view.state, rules: parseRobots('') }, '/', agent.name, policy, view.now)
  switch (judgement.kind) {
    case 'allowed':
      return `everything: ${judgement.why}`
    case 'refused':
      return 'nothing'
    case 'ask':
      return 'nothing until its robots.txt is known'
    case 'wait':
      return `nothing for another ${length(judgement.until - view.now)}: robots.txt ${judgement.why}`
    default:
      return judgement satisfies never
  }
}

function laneWord(lane: LaneView, now: number): string {
  const waiting = `${lane.waiting} waiting`
  const tries = lane.tries > 0 ? `, ${some(lane.tries, 'try', 'tries')} of its head` : ''
  const due = lane.due === undefined ? '' : lane.due > now ? `, due in ${length(lane.due - now)}` : ', due'
  const closed = new Set<string>(lane.closed.filter(({ until }) => until > now).map(({ gate }) => gate))
  if (lane.heldBy !== undefined) closed.add(lane.heldBy)
  const held = closed.size === 0 || lane.waiting === 0 ? '' : ` (${[...closed].join(', ')})`
  return `${lane.state}, ${waiting}${tries}${due}${held}`
}
