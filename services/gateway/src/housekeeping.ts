/** Regular work: leases that have ended, candidates from redirects, acknowledged outcomes, the announcements of the fleet. */
import { type About, endLeases, type Ledger, LedgerUnavailableError, type Member, outboxMark } from '@decorum/ledger'
import { crashPoint, defined, endIfUnfit, keepDoing } from '@decorum/runtime'
import type { Logger } from 'pino'
import type { Admit } from './admit.ts'
import type { GatewayMetrics } from './metrics.ts'

/** How often the loops run. A redirect waits no longer than this. */
const TICK_MS = 200
const TICKS_PER_SECOND = 5
const TRIM_TICKS = 10
const SAMPLE_TICKS = 50
const CRAWLS_MS = 1_000
const OUTBOX_ITEMS = 100
/** pages of the outbox that are read when the first entries wait for an unreachable partition */
const OUTBOX_PAGES = 10

export type HousekeepingOptions = {
  ledger: Ledger
  id: string
  /** announcement of this process */
  about?: () => About
  admit: Admit
  metrics: GatewayMetrics
  log: Logger
  /** whether memory is short; then acknowledged outcomes are removed at each tick */
  isLow?: () => boolean
  onFleet(members: Member[]): void
}

/** One loop per partition: when one Redis is unavailable or hangs, the others continue. */
export async function startHousekeeping(options: HousekeepingOptions) {
  const { ledger, log } = options
  /** The parts run independently: a full Redis refuses the others while trimming makes room again. */
  const keep = async (partition: number, tick: number): Promise<void> => {
    const works = [emptyOutbox(options, partition)]
    if (tick % TRIM_TICKS === 0 || options.isLow?.()) works.push(ledger.trimOutcomes(partition))
    const isSecond = tick % TICKS_PER_SECOND === 0
    for (const { work, partitions } of whereSome) if (isSecond || partitions.has(partition)) works.push(work(partition))
    if (tick % SAMPLE_TICKS === 0 && partition < ledger.tags.length) works.push(ledger.sample(partition).then(() => {}))
    for (const work of await Promise.allSettled(works)) if (work.status === 'rejected') throw work.reason
  }
  /** Ends expired leases and the URLs of finished crawls: once a second, and at the next tick if there were some. */
  const whereSome = [
    againWhereSome((partition) => reap(options, partition)),
    againWhereSome((partition) => ledger.sweepCrawls(partition)),
  ]
  // The first announcement shows how large the fleet is, before anything is dispatched. If Redis is unavailable, the loops start anyway.
  let isFetched = await announce(options).catch((error: unknown) => {
    endIfUnfit(error, log)
    return false
  })
  const loops = [
    keepDoing(
      ledger.clock,
      async (tick) => {
        // While no fetcher runs, all URLs wait for the first one, so it is looked for at every tick.
        if (tick % TICKS_PER_SECOND === 0 || !isFetched) isFetched = await announce(options)
      },
      TICK_MS,
      log,
    ),
    keepDoing(ledger.clock, () => readCrawls(ledger), CRAWLS_MS, log),
    ...[...ledger.tags, ...ledger.retired].map((_, partition) =>
      keepDoing(ledger.clock, (tick) => keep(partition, tick), TICK_MS, log, { partition }),
    ),
  ]
  return {
    async stop(): Promise<void> {
      await Promise.all(loops.map((stop) => stop()))
      await ledger.announce(memberOf(options), 0).catch(() => {})
    },
  }
}

const memberOf = ({ id, about }: HousekeepingOptions): Member => ({
  role: 'gateway',
  id,
  slots: 0,
  ...defined({ about: about?.() }),
})

async function readCrawls(ledger: Ledger): Promise<void> {
  await ledger.crawlBook.refresh()
  await ledger.limitCrawls()
}

/** @returns whether a fetcher is running */
async function announce(options: HousekeepingOptions): Promise<boolean> {
  const members = await options.ledger.announce(memberOf(options))
  options.onFleet(members)
  return members.some(({ role, slots }) => role === 'fetcher' && slots > 0)
}

type Again = { work: (partition: number) => Promise<void>; partitions: Set<number> }

/** @param find  returns how many it has found */
function againWhereSome(find: (partition: number) => Promise<number>): Again {
  const partitions = new Set<number>()
  const work = async (partition: number): Promise<void> => {
    if ((await find(partition)) === 0) partitions.delete(partition)
    else partitions.add(partition)
  }
  return { work, partitions }
}

/** @returns how many leases had ended */
async function reap({ ledger, metrics }: HousekeepingOptions, partition: number): Promise<number> {
  let ended = 0
  await endLeases(ledger, partition, {
    onReaped({ started, unstarted }) {
      ended += started + unstarted
      metrics.reaped.inc({ what: 'started' }, started)
      metrics.reaped.inc({ what: 'reserved' }, unstarted)
      if (started + unstarted > 0) crashPoint('reap.after')
    },
    onRobotsFetch: () => crashPoint('reap.before-record'),
  })
  return ended
}

/**
 * Stores the targets of redirects as separate candidates, once per outbox entry. An entry whose partition does not answer, or whose
 * outcome has no room, stays, and the entries behind it are processed.
 */
async function emptyOutbox({ ledger, admit }: HousekeepingOptions, partition: number): Promise<void> {
  const away = new Set<number>()
  let isHeld = false // an entry stays, because the outcomes of its crawl are not read
  const tag = [...ledger.tags, ...ledger.retired][partition] ?? ''
  let after: string | undefined
  for (let page = 0; page < OUTBOX_PAGES; page++) {
    const entries = await ledger.outbox(partition, OUTBOX_ITEMS, after)
    const done: string[] = []
    for (const { id, candidate } of entries) {
      const { id: assigned, from, ...rest } = candidate
      const { origin, item } = admit(rest, assigned)
      if (from !== undefined && 'pending' in item) item.pending.from = from
      const target = origin === undefined ? partition : ledger.partitionOf(origin)
      if (away.has(target)) continue
      try {
        const stored = await ledger.store(target, [{ ...item, mark: outboxMark(tag, id) }])
        if (stored === 'outcomes-full') {
          isHeld = true
          continue
        }
        crashPoint('outbox.after-store')
        done.push(id)
      } catch (error) {
        if (!(error instanceof LedgerUnavailableError)) throw error
        away.add(target)
      }
    }
    await ledger.clearOutbox(partition, done)
    if (done.length > 0) crashPoint('outbox.after-clear')
    after = entries.at(-1)?.id
    if (entries.length < OUTBOX_ITEMS || after === undefined || (away.size === 0 && !isHeld)) return
  }
}
