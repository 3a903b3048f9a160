/** Announces this process, reads which others run, and ends leases whose holder did not come back, whether or not a gateway runs. */
import { randomUUID } from 'node:crypto'
import { type About, endLeases, type Ledger } from '@decorum/ledger'
import { keepDoing } from '@decorum/runtime'
import type { Logger } from 'pino'

const EVERY_MS = 1_000

export async function startHousekeeping(ledger: Ledger, log: Logger, about: () => About) {
  const id = randomUUID()
  const member = () => ({ role: 'permits', id, slots: 0, about: about() })
  let fetchers = 0
  const first = Promise.withResolvers<void>()
  const round = async (): Promise<void> => {
    const members = await ledger.announce(member())
    fetchers = members.filter(({ role }) => role === 'fetcher').length
    await ledger.crawlBook.look()
    const reaped = await Promise.allSettled(ledger.tags.map((_, partition) => endLeases(ledger, partition)))
    for (const one of reaped) if (one.status === 'rejected') throw one.reason
  }
  const stop = keepDoing(() => round().finally(first.resolve), EVERY_MS, log)
  await first.promise
  return {
    fetchers: () => fetchers,
    /** announces at once, and not in a second, how many orders its workers want */
    announce: () => void ledger.announce(member()).catch(() => undefined),
    async stop(): Promise<void> {
      await stop()
      await ledger.announce(member(), 0).catch(() => undefined)
    },
  }
}
