/**
 * Crawlers of others: some ask for permits and send by themselves, well or badly; some send through the proxy. What they send stands in the sites'
 * record beside what the fleet sends, under its agent.
 */
import { ANYBODY, admit, type Caller, Problem } from '@decorum/granting'
import type { Permits } from '@decorum/permits/testing'
import { linesOf } from '@decorum/protocol/headers'
import { endTurn, keepLease, waitForTurn } from '@decorum/proxy/testing'
import { type Fetched, loadReported, NORMAL_LOAD } from '@decorum/sending'
import { exchange } from '@decorum/sending/http'
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
  /** one of the processes that grant permits, and what it serves; undefined: none runs */
  permits(dice: Dice): { process: Process; served: Permits } | undefined
  /** why a permit was not given at once */
  waitsFor(gate: string): void
  proxies(dice: Dice): { process: Process; served: ProxyServed } | undefined
}

const WAIT_MS = 30_000
const LEASES_MS = [5_000, 15_000, 40_000]
const PAUSE_MS = 400
/** Not every URL of a site: theirs are told from those of the frontier. */
const pathOf = (dice: Dice): string =>
  dice.below(10) === 0 ? `/private/of-others/${dice.below(1_000)}` : `${OF_OTHERS}${dice.below(1_000)}`

type Manner = 'behaves' | 'dies' | 'late' | 'twice' | 'gives back' | 'dies before it sends'
const MANNERS: Manner[] = [
  ...Array<Manner>(12).fill('behaves'),
  'dies',
  'late',
  'twice',
  'gives back',
  'dies before it sends',
]

/** One that asks for permits until it dies. */
export async function startCrawler(process: Process, around: Around): Promise<void> {
  const { dice, clock } = process
  for (;;) {
    await clock.sleep(dice.about(PAUSE_MS))
    const manner = dice.pick(MANNERS)
    try {
      await oneRequest(process, manner, around)
    } catch {
      await clock.sleep(dice.between(200, 2_000)) // refused, or nobody answers
    }
    if (manner.startsWith('dies')) return process.kill()
  }
}

async function oneRequest(process: Process, manner: Manner, around: Around): Promise<void> {
  const { timeline, sites, web, userAgent } = around
  const { dice, clock } = process
  const site = dice.pick(sites)
  const origin = dice.pick(site.origins)
  const asked = around.permits(dice)
  if (asked === undefined) return
  const leaseMs = dice.pick(LEASES_MS)
  const body = {
    url: origin + pathOf(dice),
    waitMs: WAIT_MS,
    leaseMs,
    shadow: false,
    ...(dice.below(4) === 0 ? { crawl: CRAWLS.others } : {}),
  }
  const { asking, desk } = asked.served
  const answer = await call(timeline, process, asked.process, async (connection) => {
    const caller: Caller = { isGone: connection.closed }
    connection.once('close', () => {
      caller.isGone = true
      caller.onGone?.()
    })
    const given = await asking.ask(body, ANYBODY, caller)
    if (connection.closed && given.status === 201 && given.permit !== undefined) await desk.giveBack(given.permit)
    return given
  })
  if (answer.status !== 201) around.waitsFor(answer.body.gate)
  if (answer.status !== 201) return clock.sleep(Math.min(answer.body.retryAfterMs, WAIT_MS))
  const { permit, sendWithinMs } = answer.body
  const grantedAt = clock.monotonic()
  const ofPermit = <T>(act: (one: Permits) => Promise<T>): Promise<T> => {
    const other = around.permits(dice)
    if (other === undefined) return Promise.reject(new Error('no permits process runs'))
    return call(timeline, process, other.process, () => act(other.served))
  }
  if (manner === 'gives back') return void (await ofPermit(({ holding }) => holding.unused(permit, ANYBODY)))
  if (manner === 'dies before it sends') return
  await clock.sleep(dice.between(0, 20))
  if (clock.monotonic() - grantedAt >= sendWithinMs) return
  let endsAt = grantedAt + answer.body.leaseMs
  const sending = request(around, process, origin, body.url.slice(origin.length))
  const extending = clock.interval(() => {
    if (clock.monotonic() > endsAt - 2_000) sending.close()
    const calledAt = clock.monotonic()
    ofPermit(({ holding }) => holding.extend(permit, leaseMs, ANYBODY)).then(
      (held) => {
        if (held.leaseMs !== undefined) endsAt = calledAt + held.leaseMs
      },
      () => undefined,
    )
  }, leaseMs / 4)
  const over = clock.timeout(() => sending.close(), Math.max(1, answer.body.leaseMs - 1_000))
  const came = await sending.answer
  clock.cancel(extending)
  clock.cancel(over)
  if (manner === 'dies') return
  if (manner === 'late') await clock.sleep(leaseMs + dice.between(0, 30_000))
  const end =
    came === undefined
      ? { error: 'no answer' }
      : { status: came.status, ...(came.headers?.['retry-after'] ? { retryAfter: came.headers['retry-after'] } : {}) }
  const complete = () => ofPermit(({ holding }) => holding.complete(permit, end, ANYBODY))
  await complete()
  if (manner === 'twice') await complete()

  function request(world: Around, by: Process, at: string, path: string) {
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>()
    const close = web.send(
      { origin: at, path, method: 'GET', agent: userAgent },
      { head: () => undefined, body: (got) => resolve(got), broken: () => resolve(undefined) },
      by,
    )
    by.onDeath(close)
    return {
      answer: promise,
      close() {
        close()
        world.timeline.after(0, 'has closed its connection', () => resolve(undefined), by)
      },
    }
  }
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
    } catch {
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
