/** Outcomes of all partitions as they are written, each awaited by its id. */

import { keysOf } from '@decorum/ledger'
import { CANDIDATES, type Outcome, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'

export type OutcomeWatch = { until(count: number): Promise<Outcome[]>; all(): Promise<Outcome[]>; close(): void }

export function watchOutcomes(url: string, tags: string[]): OutcomeWatch {
  const redis = new Redis(url)
  const all = async (): Promise<Outcome[]> => {
    const streams = await Promise.all(tags.map((tag) => redis.xrange(keysOf(tag).outcomes, '-', '+')))
    return streams.flat().map(([, fields]) => JSON.parse(fields[1] as string) as Outcome)
  }
  return {
    all,
    async until(count) {
      for (;;) {
        const found = await all()
        if (found.length >= count) return found
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    },
    close: () => redis.disconnect(),
  }
}

/** A plain BullMQ producer, as any frontier in any language is one. */
export const producer = (url: string, tag: string): Queue =>
  new Queue(CANDIDATES, { connection: { url, maxRetriesPerRequest: null }, ...queueOptions(tag) })
