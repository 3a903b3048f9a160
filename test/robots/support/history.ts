/**
 * One origin's robots.txt under one policy, by the whole history: what `step` and `judge` must come to, told the long way.
 */
import { type Policy, policies, type RobotsEvent } from '@decorum/robots'

export type Happened = { at: number; event: RobotsEvent }

/** Meaning of an event under a policy, 'renewed' for a 304 to our own validator. */
function meaning(
  event: RobotsEvent,
  policy: Policy,
  renewable: string | undefined,
): 'obey' | 'open' | 'unreachable' | undefined {
  if (event.kind === 'unanswered') {
    if (event.reason === 'too-many-redirects') return policy.answers['too-many-redirects']
    if (event.reason === 'redirect-loop' || event.reason.startsWith('blocked-')) return policy.answers['bad-redirect']
    return policy.answers['no-answer']
  }
  if (event.kind !== 'answered') return undefined
  const { status } = event
  const as = status === 304 && renewable !== undefined ? Number(renewable) : status
  if (as === 200) return policy.answers.ok
  if (as === 206) return policy.answers.partial
  if (as >= 201 && as <= 299) return policy.answers.success
  if (as === 401 || as === 403) return policy.answers.forbidden
  if (as === 429) return policy.answers['too-many-requests']
  if (as >= 400 && as <= 499) return policy.answers.missing
  if (as === 503) return policy.answers.busy
  if (as >= 500 && as <= 599) return policy.answers['server-error']
  return policy.answers.other
}

export type Standing =
  | { kind: 'unknown' }
  | { kind: 'fresh'; hash?: string; at: number }
  | { kind: 'expired' }
  /** `freshUntil`: how long what was good before it still rules. */
  | { kind: 'outage'; since: number; failures: number; copy?: string; freshUntil?: number }

/** Where the origin stands under `policy` at `now`. */
export function standing(history: Happened[], policy: Policy, now: number): Standing {
  let last:
    | { kind: 'obey' | 'open' | 'unreachable'; at: number; hash?: string; freshForMs?: number; missing?: boolean }
    | undefined
  let since: number | undefined
  let failures = 0
  let freshUntil: number | undefined
  let copy: string | undefined
  let stored: { status: string; hash: string; validated: boolean } | undefined
  let notBefore = 0
  for (const { at, event } of history) {
    const renewable = stored?.validated ? stored.status : undefined
    const meant = meaning(event, policy, renewable)
    if (meant === undefined || event.kind === 'asked' || event.kind === 'site-answered') continue
    let hash: string | undefined
    if (event.kind === 'answered') {
      const renews = event.status === 304 && renewable !== undefined
      if (renews || (event.status >= 200 && event.status <= 299)) {
        hash = renews ? (stored?.hash as string) : (event.hash as string)
        stored = {
          status: renews ? renewable : String(event.status),
          hash,
          validated: renews || event.etag !== undefined || event.lastModified !== undefined,
        }
      }
      const good =
        renews || event.status < 300
          ? event.status >= 200
          : event.status >= 400 && event.status < 500 && event.status !== 429
      if (good) notBefore = 0
    }
    if (event.retryAfterMs !== undefined) notBefore = Math.max(notBefore, at + event.retryAfterMs)
    if (meant === 'unreachable') {
      since ??= at
      if (last !== undefined && (last.kind === 'obey' || (last.kind === 'open' && last.missing)))
        freshUntil = last.at + freshnessOf(last.freshForMs, policy)
      failures++
      last = { kind: meant, at }
      continue
    }
    since = undefined
    freshUntil = undefined
    failures = 0
    copy = meant === 'obey' ? hash : undefined
    const freshForMs = event.kind === 'answered' ? event.freshForMs : undefined
    last = {
      kind: meant,
      at,
      // 4xx says that there is no file; under some policies other answers open the site without saying so.
      missing: event.kind === 'answered' && event.status >= 400 && event.status < 500 && event.status !== 429,
      ...(hash === undefined ? {} : { hash }),
      ...(freshForMs === undefined ? {} : { freshForMs }),
    }
  }
  if (!last) return { kind: 'unknown' }
  if (last.kind === 'unreachable')
    return {
      kind: 'outage',
      since: since as number,
      failures,
      ...(copy === undefined ? {} : { copy }),
      ...(freshUntil === undefined ? {} : { freshUntil }),
    }
  const fresh = freshnessOf(last.freshForMs, policy)
  if (now >= Math.max(last.at + fresh, notBefore)) return { kind: 'expired' }
  return { kind: 'fresh', at: last.at, ...(copy === undefined ? {} : { hash: copy }) }
}

function freshnessOf(said: number | undefined, policy: Policy): number {
  return Math.min(Math.max(said ?? policies.decorum.mostFreshMs, policy.leastFreshMs), policy.mostFreshMs)
}
