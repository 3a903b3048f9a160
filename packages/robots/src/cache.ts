/**
 * Fetches and caches robots.txt: `await robotsCache({ userAgent }).isAllowed(url)`. One request per origin at a time; answers and outages
 * are kept as the profile says, for at most `maxOrigins` origins. It delays only its own requests: the caller must keep the delay between
 * pages.
 */
import { productToken } from './agent.ts'
import { type Judgement, judge, needsRules } from './judge.ts'
import { ROBOTS_MAX_BYTES } from './limits.ts'
import { type RobotsEvent, type RobotsState, step, unknownOrigin } from './origin-state.ts'
import { isCutShort } from './packed.ts'
import { parseRobots } from './parse.ts'
import { type Policy, policies } from './policies.ts'
import { readRetryAfter } from './retry-after.ts'
import type { RobotsTxt } from './robots-txt.ts'

export interface RobotsCacheOptions {
  /** Sent with each request; its product token is the agent unless `agent` is given. */
  readonly userAgent: string
  readonly agent?: string | readonly string[]
  /** Default: `policies.decorum`. */
  readonly policy?: Policy
  readonly timeoutMs?: number
  readonly maxOrigins?: number
  readonly fetch?: typeof globalThis.fetch
  readonly now?: () => number
}

export interface RobotsCache {
  /** Whether this URL may be fetched. Also false while its robots.txt is unreachable: a failure allows nothing. */
  isAllowed(url: string | URL): Promise<boolean>
  /** The same with its reason; `wait` has the end of the wait. */
  judge(url: string | URL): Promise<Exclude<Judgement, { kind: 'ask' }>>
  /** The rules in force for the origin of a URL, if there are any. */
  rules(url: string | URL): Promise<RobotsTxt | undefined>
}

type Kept = { state: RobotsState; files: Map<string, RobotsTxt>; fetching?: Promise<void> }

export function robotsCache(options: RobotsCacheOptions): RobotsCache {
  const { userAgent, policy = policies.decorum, timeoutMs = 10_000, maxOrigins = 1_000 } = options
  const { fetch = globalThis.fetch, now = Date.now, agent = productToken(userAgent) } = options
  const origins = new Map<string, Kept>()
  let fences = 0

  const fetchRobots = async (origin: string, kept: Kept): Promise<void> => {
    kept.state = step(kept.state, { kind: 'asked', fence: ++fences, until: now() + timeoutMs }, now())
    const { event, body } = await request(origin, userAgent, timeoutMs, fetch, now)
    if (event.kind === 'answered' && event.hash !== undefined) kept.files.set(event.hash, parseRobots(body, { policy }))
    kept.state = step(kept.state, event, now())
    const needed = needsRules(kept.state, policy, now())
    for (const hash of kept.files.keys()) if (hash !== needed && hash !== kept.state.copy?.hash) kept.files.delete(hash)
  }
  const fetchOnce = (origin: string, kept: Kept): Promise<void> => {
    kept.fetching ??= fetchRobots(origin, kept).finally(() => delete kept.fetching)
    return kept.fetching
  }
  const known = async (origin: string): Promise<Kept> => {
    const kept = origins.get(origin) ?? { state: unknownOrigin, files: new Map<string, RobotsTxt>() }
    origins.delete(origin) // and set again, so that the entry unused for longest is first
    origins.set(origin, kept)
    for (const oldest of origins.keys()) {
      if (origins.size <= maxOrigins) break
      origins.delete(oldest)
    }
    const first = judgeKept(kept, '/', now())
    if (kept.fetching !== undefined && first.kind === 'wait') await kept.fetching
    else if (first.kind === 'ask') await fetchOnce(origin, kept)
    else if ('refresh' in first && first.refresh) void fetchOnce(origin, kept)
    return kept
  }
  const judgeKept = (kept: Kept, url: string, at: number): Judgement => {
    const rules = kept.files.get(needsRules(kept.state, policy, at) ?? '')
    return judge(rules === undefined ? kept.state : { ...kept.state, rules }, url, agent, policy, at)
  }
  const self: RobotsCache = {
    async isAllowed(url) {
      return (await self.judge(url)).kind === 'allowed'
    },
    async judge(url) {
      const { origin, href, protocol } = new URL(url)
      if (protocol !== 'https:' && protocol !== 'http:') throw new TypeError(`${protocol} has no robots.txt`)
      const judged = judgeKept(await known(origin), href, now())
      return judged.kind === 'ask' ? { kind: 'wait', until: now(), why: 'unreachable' } : judged
    },
    async rules(url) {
      const { files, state } = await known(new URL(url).origin)
      return files.get(needsRules(state, policy, now()) ?? '')
    },
  }
  return self
}

const MAX_REDIRECTS = 5
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]

/** One robots fetch with up to five redirects. Never rejects: a failure is an event too. */
async function request(
  origin: string,
  userAgent: string,
  timeoutMs: number,
  fetch: typeof globalThis.fetch,
  now: () => number,
): Promise<{ event: RobotsEvent; body: Uint8Array }> {
  const jitter = Math.random()
  const failed = (
    reason: 'too-many-redirects' | 'redirect-loop' | 'decoding' | 'timeout' | 'connect' | 'blocked-scheme',
  ) => ({ event: { kind: 'unanswered', reason, jitter }, body: new Uint8Array() }) as const
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    let at = `${origin}/robots.txt`
    const seen = new Set<string>()
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      if (seen.has(at)) return failed('redirect-loop')
      seen.add(at)
      const response = await fetch(at, { headers: { 'user-agent': userAgent }, redirect: 'manual', signal })
      const { status, headers } = response
      const to = headers.get('location')
      if (REDIRECTS.includes(status) && to !== null) {
        await response.body?.cancel()
        const target = URL.canParse(to, at) ? new URL(to, at) : undefined
        if (target === undefined || !/^https?:$/.test(target.protocol)) return failed('blocked-scheme')
        target.hash = ''
        at = target.href
        continue
      }
      const body = await bodyOf(response)
      const maxAge = /(?:^|,)\s*max-age=(\d{1,9})/i.exec(headers.get('cache-control') ?? '')?.[1]
      const good = status >= 200 && status < 300
      if (good && isCutShort(body)) return failed('decoding')
      return {
        body,
        event: {
          kind: 'answered',
          status,
          jitter,
          ...(good ? { hash: `${now()} ${at}` } : {}),
          ...(maxAge === undefined ? {} : { freshForMs: Number(maxAge) * 1_000 }),
          ...readRetryAfter(headers.get('retry-after') ?? undefined),
        },
      }
    }
    return failed('too-many-redirects')
  } catch {
    return failed(signal.aborted ? 'timeout' : 'connect')
  }
}

/** Reads a body until it is longer than ROBOTS_MAX_BYTES: the parser ignores the rest. */
async function bodyOf(response: Response): Promise<Uint8Array> {
  const reader = response.body?.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  while (reader !== undefined && size <= ROBOTS_MAX_BYTES) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    size += value.length
  }
  await reader?.cancel()
  const body = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}
