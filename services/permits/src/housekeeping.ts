/** Announces this process, reads which others run, and ends leases whose holder did not come back, whether or not a gateway runs. */
import { randomUUID } from 'node:crypto'
import { type About, endLeases, type Ledger } from '@decorum/ledger'
import { endIfUnfit } from '@decorum/runtime'
import type { Logger } from 'pino'

const EVERY_MS = 1_000

export type Housekeeping = {
  fetchers(): number
  /** announces at once, and not in a second, how many orders its workers want */
  announce(): void
  stop(): Promise<void>
}

export async function startHousekeeping(ledger: Ledger, log: Logger, about: () => About): Promise<Housekeeping> {
  const id = randomUUID()
  const member = () => ({ role: 'permits', id, slots: 0, about: about() })
  let fetchers = 0
  let running = true
  let troubled = false
  const stopped = Promise.withResolvers<void>()
  const round = async (): Promise<void> => {
    const members = await ledger.announce(member())
    fetchers = members.filter(({ role }) => role === 'fetcher').length
    await ledger.crawlBook.look()
    const reaped = await Promise.allSettled(ledger.tags.map((_, partition) => endLeases(ledger, partition)))
    for (const one of reaped) if (one.status === 'rejected') throw one.reason
  }
  const work = async (): Promise<void> => {
    try {
      await round()
      troubled = false
    } catch (error) {
      endIfUnfit(error, log)
      if (!troubled) log.warn({ err: (error as Error).message }, 'housekeeping waits')
      troubled = true
    }
  }
  const loop = async (): Promise<void> => {
    while (running) {
      await Promise.race([new Promise((resolve) => setTimeout(resolve, EVERY_MS)), stopped.promise])
      if (running) await work()
    }
  }
  await work()
  const done = loop()
  return {
    fetchers: () => fetchers,
    announce: () => void ledger.announce(member()).catch(() => undefined),
    async stop() {
      running = false
      stopped.resolve()
      await done
      await ledger.announce(member(), 0).catch(() => undefined)
    },
  }
}
