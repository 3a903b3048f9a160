/** Announces this process, reads which others run, and ends leases whose holder never reported, with or without a gateway. */
import { randomUUID } from 'node:crypto'
import { type About, endLeases, type Ledger } from '@decorum/ledger'
import { keepDoing } from '@decorum/runtime'
import type { Logger } from 'pino'

const EVERY_MS = 1_000

export type Housekeeping = Awaited<ReturnType<typeof startHousekeeping>>

export async function startHousekeeping(role: string, ledger: Ledger, log: Logger, about: () => About) {
  const id = randomUUID()
  const member = () => ({ role, id, slots: 0, about: about() })
  let fetchers = 0
  let slots = 0
  let memoryShare = 0
  const first = Promise.withResolvers<void>()
  const round = async (): Promise<void> => {
    const members = await ledger.announce(member())
    const fetching = members.filter(({ role }) => role === 'fetcher')
    fetchers = fetching.length
    slots = fetching.reduce((sum, member) => sum + member.slots, 0)
    memoryShare = await ledger.memory().then(
      ({ share }) => share,
      () => 0, // a server may refuse INFO
    )
    await ledger.crawlBook.refresh()
    const reaped = await Promise.allSettled(ledger.tags.map((_, partition) => endLeases(ledger, partition)))
    for (const one of reaped) if (one.status === 'rejected') throw one.reason
  }
  const stop = keepDoing(ledger.clock, () => round().finally(first.resolve), EVERY_MS, log)
  await first.promise
  return {
    fetchers: () => fetchers,
    /** share of Redis's maxmemory that is in use, 0 to 1; 0 if unknown */
    memoryShare: () => memoryShare,
    /** number of slots of all fetchers together */
    slots: () => slots,
    /** announces immediately, not within a second, how many orders its workers want */
    announce: () => void ledger.announce(member()).catch(() => undefined),
    async stop(): Promise<void> {
      await stop()
      await ledger.announce(member(), 0).catch(() => undefined)
    },
  }
}
