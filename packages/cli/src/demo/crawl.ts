/** The demo's frontier: sends its URLs, collects the outcomes, and resolves when each URL has one. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openFrontier } from '@decorum/client'
import { defined } from '@decorum/runtime/defined'
import { collect } from '../collect.ts'
import type { DemoUrl } from './sites.ts'
import { demoTally, type DemoSums } from './tally.ts'

export type CrawlOptions = {
  redisUrl: string
  urls: DemoUrl[]
  limitMs: number
  /** ends the wait early */
  signal: AbortSignal
  onProgress: (sums: DemoSums, waiting: () => string[]) => void
}

export type CrawlEnd = {
  sums: DemoSums
  /** URLs without an outcome when the time was over */
  unanswered: string[]
}

const PROGRESS_MS = 250

/** @throws FrontierUnavailableError when Redis does not answer */
export async function crawlAll(options: CrawlOptions): Promise<CrawlEnd> {
  const { redisUrl, urls, limitMs, signal, onProgress } = options
  const state = demoTally(urls)
  const frontier = await openFrontier({ redis: redisUrl })
  const end = new AbortController()
  const collecting = collect(frontier.outcomes({ group: 'demo' }), async (outcomes) => {
    for (const outcome of outcomes) state.record(outcome)
    if (state.complete) end.abort()
  }).finally(() => end.abort())
  collecting.catch(() => undefined) // awaited below
  const show = () => onProgress(state.sums, state.waiting)
  const ticker = setInterval(show, PROGRESS_MS)
  try {
    await frontier.enqueue(
      urls.map(({ url, agent, lifeMs }, n) => ({
        id: state.idOf(n),
        url,
        agent,
        ...defined({ expiresAt: lifeMs && Date.now() + lifeMs }),
      })),
    )
    await sleep(limitMs, undefined, { signal: AbortSignal.any([end.signal, signal]) }).catch(() => undefined)
    show()
  } finally {
    clearInterval(ticker)
    await frontier.close()
  }
  await collecting
  return { sums: state.sums, unanswered: state.waiting() }
}

/** Outcomes that came after the end: a second one for any URL would be a broken promise. */
export async function lateOutcomes(redisUrl: string): Promise<string[]> {
  const frontier = await openFrontier({ redis: redisUrl })
  try {
    const late: string[] = []
    await collect(frontier.outcomes({ group: 'demo', wait: false }), async (outcomes) => {
      late.push(...outcomes.map(({ url, kind }) => `${url}: a second outcome (${kind})`))
    })
    return late
  } finally {
    await frontier.close()
  }
}
