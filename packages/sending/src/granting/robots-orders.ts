/** The robots fetch that permits wait for: an order to the fleet's fetchers, under a claimed lane. */
import {
  type ClaimRequest,
  type CrawlHeld,
  type Ledger,
  type LedgerGateName,
  LedgerUnavailableError,
} from '@decorum/ledger'
import { JOB_NAMES, type WrittenOrder } from '@decorum/protocol'
import type { Queue } from '@decorum/protocol/bullmq'
import { within } from '@decorum/protocol/within'
import type { Full, RobotsRoom } from './robots-room.ts'
import type { Token } from './tokens.ts'

export type OrderedRobots =
  /** too many robots fetches of this token are under way */
  | Full
  /** try the lane again after this time */
  | { waitMs: number; gate: LedgerGateName }
  /** rules-changed: there are newer rules, which apply at once · blocked: by an operator */
  | 'rules-changed'
  | 'blocked'
  | CrawlHeld

/** Time before the first check whether a robots fetch has ended; callers in line check less and less often. */
const RECHECK_MS = 40
/** An order that Redis has not accepted by then is dropped; its reservation expires. */
const ADD_MS = 2_000
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: { count: 1_000 } }

export type RobotsOrders = ReturnType<typeof robotsOrders>

/** @param queues  the order queue of each partition */
export function robotsOrders(ledger: Ledger, queues: readonly Pick<Queue, 'add' | 'close'>[], room: RobotsRoom) {
  return {
    /**
     * @param wanted   isUnclaimed: no permit was granted for the origin recently
     * @param by       the caller
     * @param version  version of the caller's rules: when the ledger has newer ones, nothing is ordered
     */
    async orderFetch(
      { isUnclaimed = true, ...wanted }: ClaimRequest & { isUnclaimed?: boolean },
      by: Token,
      version: number,
      delayMs: number,
    ): Promise<OrderedRobots> {
      const { agent, origin } = wanted
      const place = room.take(by, origin, version)
      if (place.kind === 'full') return place
      const claim = await ledger.claim(wanted).catch((error: unknown) => {
        place.leave()
        throw error
      })
      if (claim.kind !== 'claimed' || claim.version !== version) place.leave()
      if (claim.kind === 'blocked') return claim.kind
      if (claim.kind === 'crawl-held') return claim
      if (claim.kind === 'wait') {
        // A fetch in flight usually ends long before its lease.
        return { waitMs: claim.gate === 'robots-in-flight' ? RECHECK_MS : claim.waitMs, gate: claim.gate }
      }
      const partition = ledger.partitionOf(origin)
      if (claim.version !== version) {
        const lane = { agent, origin, fence: claim.fence, dropped: [], next: { kind: 'release' as const } }
        await ledger.resolve(partition, [lane])
        return 'rules-changed'
      }
      const order: WrittenOrder = {
        kind: 'robots',
        agent,
        origin,
        path: '/robots.txt',
        fence: claim.fence,
        version,
        delayMs,
        notBefore: claim.notBefore,
        id: '',
        by: by.name,
        isUnclaimed,
      }
      const data = { orders: [order] }
      const adding = (queues[partition] as Pick<Queue, 'add'>).add(JOB_NAMES.orders, data, JOB_OPTIONS)
      await within(ledger.clock, adding, ADD_MS, () => new Error('the queue did not answer')).catch(
        (error: unknown) => {
          throw new LedgerUnavailableError('orders', error)
        },
      )
      return { waitMs: RECHECK_MS, gate: 'robots-in-flight' }
    },
    async close(): Promise<void> {
      room.stop()
      await Promise.allSettled(queues.map((queue) => queue.close()))
    },
  }
}
