/**
 * Crawlers of others: some ask for permits and send by themselves, well or badly; some are workers of a pool; some send through the proxy. What they
 * send stands in the sites' record beside what the fleet sends, under its agents.
 */

import { nextRequest, type Permits } from '@decorum/permits/testing'
import { linesOf } from '@decorum/protocol/headers'
import { endTurn, keepLease, waitForTurn } from '@decorum/proxy/testing'
import { type Fetched, loadReported, NORMAL_LOAD } from '@decorum/sending'
import { ANYBODY, admit, type Caller, Problem } from '@decorum/sending/granting'
import { exchange } from '@decorum/sending/http'
import { POOL } from './configuration.ts'
import type { Dice } from './dice.ts'
import { CRAWLS } from './frontier.ts'
import type { ProxyServed } from './granting.ts'
import { Connection, call } from './http.ts'
import type { Process } from './process.ts'
import { type Answer, OF_OTHERS, type Site, type Web } from './sites.ts'
import type { Timeline } from './timeline.ts'

/** What crawlers find: processes that serve, and sites. */
export type Around = {
  timeline: Timeline
  web: Web
  sites: readonly Site[]
  userAgent: string
  /** the User-Agent of the pool's agent */
  poolAgent: string
  /** one of the processes that grant permits, and what it serves; undefined: none runs */
  permits(dice: Dice): { process: Process; served: Permits } | undefined
  /** why a permit was not given at once */
  waitsFor(gate: string): void
  proxies(dice: Dice): { process: Process; served: ProxyServed } | undefined
  /** for how long the address of an origin has been stopped, ms, where nothing goes wrong */
  stoppedFor(origin: string): number | undefined
  /** a promise to somebody who asks was not kept */
  problem(text: string): void
}

const WAIT_MS = 30_000
const LEASES_MS = [5_000, 15_000, 40_000]
const PAUSE_MS = 400
/** A request is given up when its lease ends so soon. */
const MARGIN_MS = 1_000
/** A permits process has read of an emergency stop by then. */
const STOP_READ_MS = 3_000
/** Not every URL of a site: theirs are told from those of the frontier. */
const pathOf = (dice: Dice): string =>
  dice.below(10) === 0 ? `/private/of-others/${dice.below(1_000)}` : `${OF_OTHERS}${dice.below(1_000)}`

type Manner = 'behaves' | 'sends late' | 'dies' | 'late' | 'twice' | 'gives back' | 'dies before it sends'
const MANNERS: Manner[] = [
  ...Array<Manner>(9).fill('behaves'),
  ...Array<Manner>(3).fill('sends late'),
  'dies',
  'late',
  'twice',
  'gives back',
  'dies before it sends',
]

/** What a crawler holds: a permit, or an order of a pool, which is one too. */
type Held = { permit: string; leaseMs: number; sendWithinMs: number }

/** One that asks for permits until it dies. */
export const startCrawler = (process: Process, around: Around): Promise<void> =>
  again(process, around, (manner) => oneRequest(process, manner, around))

/** One that asks for orders of the pool until it dies. */
export const startWorker = (process: Process, around: Around): Promise<void> =>
  again(process, around, (manner) => someOrders(process, manner, around))

/** Who is refused, or gets no answer, comes again; any other error is a fault of the product, or of the world. */
function unexpected(error: unknown, around: Around): void {
  if (error instanceof TypeError) around.problem(`a request of others has thrown: ${error.stack}`)
}

async function again(process: Process, around: Around, act: (manner: Manner) => Promise<void>): Promise<void> {
  const { dice, clock } = process
  for (;;) {
    await clock.sleep(dice.about(PAUSE_MS))
    const manner = dice.pick(MANNERS)
    try {
      await act(manner)
    } catch (error) {
      unexpected(error, around)
      await clock.sleep(dice.between(200, 2_000)) // refused, or nobody answers
    }
    if (manner.startsWith('dies')) return process.kill()
  }
}

/** A connection as the service's routes know it. */
function callerOf(connection: Connection): Caller {
  const caller: Caller = { isGone: connection.closed }
  connection.once('close', () => {
    caller.isGone = true
    caller.onGone?.()
  })
  return caller
}

async function oneRequest(process: Process, manner: Manner, around: Around): Promise<void> {
  const { timeline, sites, userAgent } = around
  const { dice, clock } = process
  const origin = dice.pick(dice.pick(sites).origins)
  const asked = around.permits(dice)
  if (asked === undefined) return
  const url = origin + pathOf(dice)
  const body = {
    url,
    waitMs: WAIT_MS,
    leaseMs: dice.pick(LEASES_MS),
    shadow: false,
    ...(dice.below(4) === 0 ? { crawl: CRAWLS.others } : {}),
  }
  const { granter, desk } = asked.served
  const answer = await call(timeline, process, asked.process, async (connection) => {
    const given = await granter.grant(body, ANYBODY, callerOf(connection))
    if (connection.closed && given.status === 201 && given.permit !== undefined) await desk.giveBack(given.permit)
    return given
  })
  if (answer.status !== 201) around.waitsFor(answer.body.gate)
  if (answer.status !== 201) return clock.sleep(Math.min(answer.body.retryAfterMs, WAIT_MS))
  const came = await underPermit(process, manner, around, answer.body, { url, userAgent })
  if (came === 'nothing sent') return
  const end =
    came === undefined
      ? { error: 'no answer' }
      : { status: came.status, ...(came.headers?.['retry-after'] ? { retryAfter: came.headers['retry-after'] } : {}) }
  await complete(process, manner, around, answer.body, end)
}

/** Orders of the pool, each of another lane; a page asks for more of its origin now and then. */
async function someOrders(process: Process, manner: Manner, around: Around): Promise<void> {
  const { timeline, poolAgent: userAgent } = around
  const { dice } = process
  const asked = around.permits(dice)
  if (asked === undefined) return
  const { pools } = asked.served
  const orders = await call(timeline, process, asked.process, async (connection) => {
    const given = await pools.request(POOL, 1 + dice.below(3), WAIT_MS, ANYBODY, callerOf(connection))
    if (connection.closed) await pools.releaseUndelivered(given)
    return given
  })
  await Promise.all(
    orders.map(async (order) => {
      const came = await underPermit(process, manner, around, order, { url: order.url, userAgent })
      if (came === 'nothing sent') return
      if (came === undefined) return complete(process, manner, around, order, { error: 'no answer' })
      const isLess = came.status === 429 || came.status === 503 || came.headers?.['retry-after'] !== undefined
      const isWanted = !isLess && dice.below(3) === 0 // docs/pools.md
      const further = isWanted ? await furtherRequest(process, around, order, userAgent) : undefined
      await complete(process, manner, around, order, {
        status: came.status,
        headers: Object.entries(came.headers ?? {}),
        ...(further && { load: further }),
      })
    }),
  )
}

/** One more request under an order, when its turn has come. @returns what its page says of the load, if it was sent and answered */
async function furtherRequest(
  process: Process,
  around: Around,
  { permit, url }: Held & { url: string },
  agent: string,
) {
  const target = `${new URL(url).origin}${OF_OTHERS}further-${process.dice.below(1_000)}`
  try {
    const turn = await atPermits(process, around, ({ desk, holding }) =>
      nextRequest(permit, target, ANYBODY, desk, holding),
    )
    const came = await underPermit(process, 'behaves', around, turn, { url: target, userAgent: agent })
    if (came === undefined || came === 'nothing sent') return undefined
    const retryAfter = came.headers?.['retry-after']
    return { status: came.status, ...(retryAfter === undefined ? {} : { retryAfter }) }
  } catch {
    return undefined // no more requests now: the order ends with its page
  }
}

/** At one of the permits processes, whichever. */
function atPermits<T>(process: Process, around: Around, act: (served: Permits) => Promise<T>): Promise<T> {
  const other = around.permits(process.dice)
  if (other === undefined) return Promise.reject(new Error('no permits process runs'))
  return call(around.timeline, process, other.process, () => act(other.served))
}

/** Sends the request of a permit, and extends it until there is an answer. @returns undefined: there is none, and it may have been sent */
async function underPermit(
  process: Process,
  manner: Manner,
  around: Around,
  { permit, leaseMs, sendWithinMs }: Held,
  { url, userAgent }: { url: string; userAgent: string },
): Promise<Answer | undefined | 'nothing sent'> {
  const { timeline, web } = around
  const { dice, clock } = process
  const grantedAt = clock.monotonic()
  const nothing = 'nothing sent'
  if (sendWithinMs <= 0) around.problem(`a permit for ${url} leaves no time to send`)
  if (manner === 'gives back') {
    await atPermits(process, around, ({ holding }) => holding.unused(permit, ANYBODY))
    return nothing
  }
  if (manner === 'dies before it sends') return nothing
  // Somebody who means to use all of the time may be late as well: nothing is sent then
  const isAtOnce = manner !== 'sends late' && dice.below(2) === 0
  if (!isAtOnce)
    await clock.sleep(manner === 'sends late' ? sendWithinMs * dice.between(0.5, 1.05) : dice.between(0, 20))
  if (clock.monotonic() - grantedAt >= sendWithinMs) return nothing
  let endsAt = grantedAt + leaseMs
  const { promise, resolve } = Promise.withResolvers<Answer | undefined>()
  const { origin } = new URL(url)
  const isUntold = manner === 'dies' || manner === 'late'
  const close = web.send(
    { origin, path: url.slice(origin.length), method: 'GET', agent: userAgent, isUntold },
    { head: () => undefined, body: (got) => resolve(got), broken: () => resolve(undefined) },
    process,
  )
  process.onDeath(close)
  const giveUp = (): void => {
    close()
    timeline.after(0, 'has closed its connection', () => resolve(undefined), process)
  }
  const extending = clock.interval(() => {
    const leftMs = endsAt - clock.monotonic()
    if (leftMs < MARGIN_MS) return giveUp()
    const calledAt = clock.monotonic()
    const stoppedMs = around.stoppedFor(origin) ?? 0
    atPermits(process, around, ({ holding }) => holding.extend(permit, leaseMs, ANYBODY)).then(
      (held) => {
        if (held.leaseMs !== undefined) endsAt = calledAt + held.leaseMs
        if (held.stop !== undefined) giveUp()
        else if (stoppedMs > STOP_READ_MS && around.stoppedFor(origin) !== undefined)
          around.problem(`a permit for ${url} is extended without a word of the stop of its address`)
      },
      () => undefined,
    )
  }, leaseMs / 8)
  const came = await promise
  clock.cancel(extending)
  return came
}

async function complete(process: Process, manner: Manner, around: Around, { permit, leaseMs }: Held, end: object) {
  const { dice, clock } = process
  if (manner === 'dies') return
  if (manner === 'late') await clock.sleep(leaseMs + dice.between(0, 30_000))
  for (let times = manner === 'twice' ? 2 : 1; times > 0; times--)
    await atPermits(process, around, ({ holding }) => holding.complete(permit, end, ANYBODY))
}

/** One that sends through the proxy, and hangs up now and then. */
export async function startProxied(process: Process, around: Around): Promise<void> {
  const { timeline, sites } = around
  const { dice, clock } = process
  for (;;) {
    await clock.sleep(dice.about(PAUSE_MS))
    const site = dice.pick(sites)
    const url = dice.pick(site.origins) + pathOf(dice)
    const proxy = around.proxies(dice)
    if (proxy === undefined) continue
    const connection = new Connection()
    const leaves = dice.below(10) === 0
    if (leaves)
      clock.timeout(
        () => timeline.after(1, 'a client hangs up', () => connection.close(), proxy.process),
        dice.between(1, 3_000),
      )
    try {
      await call(timeline, process, proxy.process, (client) => forward(url, proxy.served, client), connection)
    } catch (error) {
      unexpected(error, around)
      await clock.sleep(dice.between(200, 2_000))
    }
  }
}

/** As services/proxy/src/forward.ts does for a request without a body: its turn, the exchange, and what the ledger is told of it. */
async function forward(url: string, parts: ProxyServed, client: Connection): Promise<void> {
  const { tools, config, connections } = parts
  const [agent] = tools.agents.list
  if (agent === undefined) throw new Error('there is no agent')
  const wish = admit(url, agent, ANYBODY, config.guard)
  if (wish instanceof Problem) throw wish
  const turn = await waitForTurn(wish, `client ${url}`, client, parts)
  if (!('lease' in turn)) throw new Error(turn.detail)
  const { lease } = turn
  const gone = new AbortController()
  const onClose = (): void => gone.abort(new Error('the client has gone'))
  client.once('close', onClose)
  if (client.closed) onClose()
  const stop = keepLease(
    turn,
    () => 0,
    parts,
    (reason) => gone.abort(reason),
  )
  const result = await exchange({
    way: connections.lane(agent, wish.origin),
    origin: wish.origin,
    path: wish.path,
    headers: ['user-agent', agent.userAgent],
    deadlineMs: config.PERMIT_MAX_MS,
    maxBytes: Number.POSITIVE_INFINITY,
    lastCheck: (address) => lease.lastCheck(address),
    confirm: () => lease.confirm(),
    keepBody: () => false,
    signal: gone.signal,
  })
  stop()
  client.off('close', onClose)
  const { endedAt, timing } = result
  const took = { endedAt, tookMs: timing.totalMs }
  const isOurs = gone.signal.aborted
  const fetched: Fetched =
    result.kind === 'not-sent'
      ? { what: 'not-sent', endedAt, bytes: 0, load: NORMAL_LOAD }
      : result.kind === 'unanswered'
        ? { ...took, what: 'unanswered', bytes: 0, load: isOurs ? NORMAL_LOAD : { kind: 'no-answer' } }
        : {
            ...took,
            what: 'answered',
            bytes: result.body.bytes,
            load: loadReported(result.status, linesOf(result.headers, 'retry-after')),
          }
  await endTurn(turn, fetched, parts)
}
