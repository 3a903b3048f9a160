/** A fetcher that the test plays by hand: it announces slots, receives real orders and answers through the real ledger. */
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { ORDERS, type Order, type Outcome, ordersIn, queueOptions } from '@decorum/protocol'
import { parseRobots, step } from '@decorum/robots'
import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { PATIENT } from '../../support/patient.ts'

export type HandFetcher = {
  ledger: LedgerWithViews
  /** the next order, once its lane is open */
  next(): Promise<Order>
  /** from now on every order is told at once, and `next` hears of none */
  each(listener: (order: Order) => void): void
  /** orders that nobody has asked for yet */
  pending(): number
  /** @returns whether it is granted; false: the reservation has ended */
  tryStart(order: Order): Promise<boolean>
  start(order: Order): Promise<void>
  /** answers a begun robots order */
  rules(order: Order, status: number, text?: string): Promise<void>
  /** ends a begun page order as fetched, or as a redirect */
  page(order: Order, redirect?: { to: string; id: string }): Promise<void>
  close(): Promise<void>
}

export async function handFetcher(url: string, partitions: number, slots = 100): Promise<HandFetcher> {
  const ledger = await openLedgerWithViews({ redis: url, partitions, ...PATIENT })
  await ledger.announce({ role: 'fetcher', id: 'by-hand', slots }, 600_000)
  const connection = new Redis(url, { maxRetriesPerRequest: null })
  const waiting: Order[] = []
  const askers: ((order: Order) => void)[] = []
  let listener: ((order: Order) => void) | undefined
  const workers = ledger.tags.map(
    (tag) =>
      new Worker(
        ORDERS,
        async ({ data }) => {
          for (const read of ordersIn(data) ?? []) {
            if (!read.ok) throw new Error(read.why)
            const { order } = read
            const asker = listener ?? askers.shift()
            if (asker === undefined) waiting.push(order)
            else asker(order)
          }
        },
        { connection, ...queueOptions(tag) },
      ),
  )
  const tryStart = async (order: Order): Promise<boolean> => {
    for (;;) {
      const answer = await ledger.start(order)
      if (answer.kind === 'granted') return true
      if (answer.kind === 'refused') return false
      await new Promise((resolve) => setTimeout(resolve, Math.ceil(answer.waitMs)))
    }
  }
  return {
    ledger,
    next() {
      const order = waiting.shift()
      if (order !== undefined) return Promise.resolve(order)
      return new Promise((resolve) => askers.push(resolve))
    },
    each(all) {
      listener = all
      for (const order of waiting.splice(0)) all(order)
    },
    pending: () => waiting.length,
    tryStart,
    async start(order) {
      if (!(await tryStart(order))) throw new Error(`no lease for ${order.origin}: its reservation has ended`)
    },
    async rules(order, status, text = '') {
      const partition = ledger.partitionOf(order.origin)
      const [known] = await ledger.robotsStates(partition, [order.origin])
      const hash = `h${text.length}-${Buffer.from(text).toString('hex').slice(0, 24)}`
      const state = step(known?.state ?? {}, { kind: 'answered', status, hash, jitter: 0 }, ledger.now(partition))
      const delay = parseRobots(text).crawlDelay(order.agent)
      const delayMs = Math.min((delay ?? 0) * 1_000, 10_000)
      const body = status === 200 ? { body: { hash, bytes: Buffer.from(text) } } : {}
      await ledger.record({ ...order, state, ...body, delays: [{ agent: order.agent, delayMs }], elapsedMs: 0 })
    },
    async page(order, redirect) {
      const common = {
        id: order.id,
        url: order.origin + order.path,
        agent: order.agent,
        at: Date.now(),
        attempts: order.attempt,
        ...(order.meta === undefined ? {} : { meta: order.meta }),
      }
      const outcome: Outcome =
        redirect === undefined
          ? {
              ...common,
              kind: 'fetched',
              status: 200,
              headers: [],
              bytes: 0,
              truncated: '',
              digest: 'sha1:',
              startedAt: 0,
              ms: 1,
              address: '127.0.0.1',
            }
          : { ...common, kind: 'redirected', status: 302, to: redirect.to, candidate: redirect.id }
      const candidate =
        redirect === undefined
          ? {}
          : { candidate: { id: redirect.id, url: redirect.to, agent: order.agent, hops: order.hops + 1 } }
      await ledger.complete({ ...order, load: { kind: 'normal' }, elapsedMs: 0, outcome, ...candidate })
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.close()))
      connection.disconnect()
      await ledger.close()
    },
  }
}
