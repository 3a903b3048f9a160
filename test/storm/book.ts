/** The frontier's own book: what it was told is accepted, and each outcome that it was handed, with the time of both. */
import { setTimeout as sleep } from 'node:timers/promises'
import { now as clock } from '@decorum/cli/synthetic-web'
import { type Frontier, type FrontierOptions, openFrontier } from '@decorum/client'
import type { Outcome } from '@decorum/protocol'

/** When Redis was asked to take a candidate, and by when it had: the candidate has been there since some moment between the two. */
export type Acceptance = { from: number; at: number }
export type Delivered = { outcome: Outcome; at: number }

export type Book = {
  accepted: Map<string, Acceptance>
  /** id → its outcomes in order, one entry of the stream once */
  outcomes: Map<string, Delivered[]>
  /** the same entry handed out again, because an acknowledgement was lost */
  redelivered: number
  /** candidates that Redis never confirmed: neither accepted nor lost */
  unsure: Set<string>
  pour(candidates: { id: string; url: string }[]): Promise<void>
  /** accepted ids and redirects' targets that have no outcome yet */
  waiting(): string[]
  close(): Promise<void>
}

const PATIENCE_MS = 120_000

export async function openBook(
  redisUrl: string,
  options: Pick<FrontierOptions, 'crawl' | 'patienceMs'> = {},
): Promise<Book> {
  const frontier: Frontier = await openFrontier({ redis: redisUrl, patienceMs: PATIENCE_MS, ...options })
  const accepted = new Map<string, Acceptance>()
  const outcomes = new Map<string, Delivered[]>()
  const unsure = new Set<string>()
  const texts = new Set<string>()
  const book: Book = {
    accepted,
    outcomes,
    unsure,
    redelivered: 0,
    async pour(candidates) {
      for (const { id } of candidates) unsure.add(id)
      const from = clock()
      await frontier.enqueue(candidates)
      const at = clock()
      for (const { id } of candidates) {
        unsure.delete(id)
        accepted.set(id, { from, at })
      }
    },
    waiting: () => [...accepted.keys()].filter((id) => !outcomes.has(id)),
    async close() {
      await frontier.close()
      await collecting
    },
  }
  const collecting = (async () => {
    for await (const { outcome, ack } of frontier.outcomes({ group: 'storm', consumer: 'storm' })) {
      const text = JSON.stringify(outcome)
      if (texts.has(text)) book.redelivered++
      else {
        texts.add(text)
        outcomes.set(outcome.id, [...(outcomes.get(outcome.id) ?? []), { outcome, at: clock() }])
        // A target becomes a candidate in the same script as its redirect's outcome.
        if (outcome.kind === 'redirected' && !accepted.has(outcome.candidate))
          accepted.set(outcome.candidate, { from: clock(), at: clock() })
      }
      void ack().catch(() => undefined)
    }
  })()
  await sleep(0)
  return book
}
