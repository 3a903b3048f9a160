/** The sentence about an origin: the strongest reason among its lanes. Pure. */
import type { DescribedOrigin } from '../api/describe-origin.ts'
import { capital, length, some } from '../words.ts'
import { STATES, type Tone } from './parts.ts'

export type OriginHeadline = { tone: Tone; title: string; sentence: string }

export function originHeadline({ lanes, now }: DescribedOrigin): OriginHeadline {
  const waiting = lanes.reduce((sum, lane) => sum + lane.waiting, 0)
  const urls = waiting === 0 ? '' : ` ${some(waiting, 'URL waits', 'URLs wait')}.`
  for (const [state, shown] of Object.entries(STATES)) {
    const why = lanes.find((lane) => lane.why.state === state)?.why
    if (why === undefined) continue
    const left =
      why.until !== undefined && why.until > now
        ? `; for another ${length(why.until - now)}`
        : state === 'paused' || state === 'blocked'
          ? ', until somebody ends it'
          : ''
    return { ...shown, sentence: `${capital(why.sentence)}${left}.${urls}` }
  }
  return { ...STATES.idle, sentence: 'No URL waits.' }
}
