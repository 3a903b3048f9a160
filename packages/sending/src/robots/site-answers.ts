/**
 * When pages of an origin last answered, as known to this process. The time is recorded with the next failure of the origin's
 * robots.txt: after a month of failures the profile `google` allows a site whose pages answer (docs/spec/robots.md §6). If this process
 * has lost the time, or another one received the answers, the origin stays closed.
 */
import type { Agents } from '@decorum/config'
import { type Instant, policies, type RobotsEvent, type RobotsState, step } from '@decorum/robots'

export type SiteAnswers = ReturnType<typeof siteAnswers>

/** Most origins remembered at once, the latest ones. */
const REMEMBERED = 10_000

/** Stores nothing when no agent's profile uses it. */
export function siteAnswers({ list }: Agents) {
  const isRead = list.some(({ profile }) => policies[profile].afterwards === 'open-if-site-answers')
  const latest = new Map<string, Instant>()
  return {
    /** A page of the origin answered with this status. */
    heard(origin: string, status: number, at: Instant): void {
      if (!isRead || status >= 500) return
      latest.delete(origin)
      latest.set(origin, at)
      const [oldest] = latest.size > REMEMBERED ? latest.keys() : []
      if (oldest !== undefined) latest.delete(oldest)
    },
    /** The state before `event`; when the event is a failure, with the time of the last page that answered. */
    stateAfter(state: RobotsState, origin: string, event: RobotsEvent): RobotsState {
      const at = latest.get(origin)
      const isFailure =
        event.kind === 'unanswered' || (event.kind === 'answered' && (event.status === 429 || event.status >= 500))
      return at === undefined || !isFailure ? state : step(state, { kind: 'site-answered' }, at)
    },
  }
}
