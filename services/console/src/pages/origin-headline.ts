/** The sentence about an origin: the strongest reason among its lanes. Pure. */
import type { DescribedOrigin } from '../api/describe-origin.ts'
import type { WaitState, Why } from '../why.ts'
import { count, length } from '../words.ts'

export type OriginHeadline = {
  tone: 'calm' | 'moving' | 'polite' | 'halted' | 'trouble'
  title: string
  sentence: string
}

/** Order of importance: the first of these that applies to any lane is shown. */
const RANKED: [state: WaitState, tone: OriginHeadline['tone'], title: string][] = [
  ['startup-hold', 'halted', 'Held'],
  ['stopped', 'halted', 'Stopped'],
  ['blocked', 'halted', 'Blocked'],
  ['paused', 'halted', 'Paused'],
  ['back-off', 'halted', 'Backing off'],
  ['late', 'trouble', 'Late'],
  ['robots', 'halted', 'Waiting for its robots.txt'],
  ['in flight', 'moving', 'In flight'],
  ['due', 'moving', 'Due'],
  ['delay', 'polite', 'Waiting for its delay'],
  ['idle', 'calm', 'Nothing waits'],
]

export function originHeadline(origin: DescribedOrigin): OriginHeadline {
  const waiting = origin.lanes.reduce((sum, lane) => sum + lane.waiting, 0)
  const urls = waiting === 0 ? '' : ` ${count(waiting)} ${waiting === 1 ? 'URL waits' : 'URLs wait'}.`
  for (const [state, tone, title] of RANKED) {
    const lane = origin.lanes.find((one) => one.why.state === state)
    if (lane === undefined) continue
    return { tone, title, sentence: `${sentence(lane.why, origin.now)}${urls}` }
  }
  return { tone: 'calm', title: 'Nothing waits', sentence: 'No URL waits.' }
}

function sentence({ sentence: text, until, state }: Why, now: number): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  if (until === undefined || until <= now) {
    const byHand = state === 'paused' || state === 'blocked' ? ', until somebody ends it' : ''
    return `${capital}${byHand}.`
  }
  return `${capital}; for another ${length(until - now)}.`
}
