/**
 * Outcomes as one answer, after a wait if there is none yet. No state is kept between requests: Redis first gives a consumer its
 * unacknowledged outcomes, through any console.
 */

import type { Delivery, Frontier } from '@decorum/client'
import { abortAfter, systemClock } from '@decorum/protocol'

export type PollWish = {
  crawl: string
  group: string
  consumer: string
  from: 'start' | 'now'
  max: number
  waitMs: number
}

/** @throws FrontierUnavailableError when Redis does not answer */
export async function pollOutcomes(
  frontier: Frontier,
  { waitMs, ...wish }: PollWish,
  gone: AbortSignal,
): Promise<Pick<Delivery, 'id' | 'outcome'>[]> {
  const found = await whatThereIs(frontier, wish, gone)
  if (found.length > 0 || waitMs === 0 || gone.aborted) return found
  const signal = AbortSignal.any([gone, abortAfter(systemClock, waitMs)])
  for await (const _first of frontier.outcomes({ ...wish, max: 1, wait: true, signal })) break
  // The first one is now assigned to this consumer, so it is redelivered, with the outcomes that arrived with it
  return gone.aborted ? [] : whatThereIs(frontier, wish, gone)
}

async function whatThereIs(
  frontier: Frontier,
  wish: Omit<PollWish, 'waitMs'>,
  signal: AbortSignal,
): Promise<Pick<Delivery, 'id' | 'outcome'>[]> {
  const found: Pick<Delivery, 'id' | 'outcome'>[] = []
  for await (const { id, outcome } of frontier.outcomes({ ...wish, wait: false, signal })) found.push({ id, outcome })
  return found
}
