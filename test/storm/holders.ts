/**
 * Crawlers of others in the storm. They fetch under permits, and each treats some of them badly: it dies with one, freezes, completes
 * twice or late, extends for ever. Liars say that an exchange has ended before it has begun; they have an agent of their own, because
 * what their sites see is theirs.
 */
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dice } from './dice.ts'
import { LIAR, type Times } from './manners.ts'

const MODES = ['good', 'killed', 'frozen', 'twice', 'late', 'for-ever', 'liar'] as const
export type Mode = (typeof MODES)[number]
export type HolderFacts = {
  /** exchanges under permits, by how their holder behaved */
  exchanges: Record<Mode, number>
  /** of the callers that asked for one lane at once: how many had their turn, and how often one came before an earlier one of its process */
  inLine: { granted: number; outOfOrder: number }
  /** how often a permit was gone when its holder came back, and how often extending it came to an end */
  gone: number
  ended: number
}

export type HoldersOptions = {
  /** addresses of the permits processes that run now */
  bases: () => string[]
  /** a URL of its own for each n */
  urlOf: (n: number) => string
  /** the lane that many ask for at once, by the n-th of them */
  lineUrl: (n: number) => string
  times: Times
  dice: Dice
  signal: AbortSignal
}

const CRAWLERS = 30
const IN_LINE = 200
const LEAST_IN_LINE = 5
const WAIT_MS = 10_000

/** The last two instants at which this process ran: what came before the last but one has been handled by now. */
const PULSE_MS = 5
const pulse = { last: performance.now(), before: performance.now() }

/** `since`: the answer may have been here from then on, by `performance.now()` */
type Told = { status: number; body: Record<string, unknown>; since: number }
type Granted = { permit: string; url: string; userAgent: string; sendWithinMs: number; leaseMs: number }

/** @returns what has been seen so far, and when the last of them has ended */
export function holdPermits(options: HoldersOptions): { facts: HolderFacts; ended: Promise<unknown> } {
  const facts: HolderFacts = {
    exchanges: { good: 0, killed: 0, frozen: 0, twice: 0, late: 0, 'for-ever': 0, liar: 0 },
    inLine: { granted: 0, outOfOrder: 0 },
    gone: 0,
    ended: 0,
  }
  const pulsing = setInterval(() => {
    pulse.before = pulse.last
    pulse.last = performance.now()
  }, PULSE_MS)
  let n = 0
  const modes = options.dice.deck(MODES)
  const crawl = async (): Promise<void> => {
    while (!options.signal.aborted) await one(options, options.urlOf(n++), modes, facts)
  }
  const ended = Promise.all([...Array.from({ length: CRAWLERS }, crawl), standInLine(options, facts)])
  return { facts, ended: ended.finally(() => clearInterval(pulsing)) }
}

const notYet = ({ exchanges }: HolderFacts): Mode[] => MODES.filter((mode) => exchanges[mode] === 0)

/** @returns what such a crowd has not done yet */
export const deedsMissing = (facts: HolderFacts): string[] => [
  ...notYet(facts).map((mode) => `an exchange under a permit: ${mode}`),
  ...(facts.inLine.granted < LEAST_IN_LINE ? [`${LEAST_IN_LINE} turns in the line for one lane`] : []),
]

async function one(options: HoldersOptions, url: string, modes: () => Mode, facts: HolderFacts): Promise<void> {
  const { bases, dice, times } = options
  /** another one each time: any of them can end a permit, and the one that gave it may have died */
  const by = (): string => dice.pick(bases().length === 0 ? [''] : bases())
  const mode = dice.next() < 0.4 ? 'good' : (notYet(facts)[0] ?? modes())
  const agent = mode === 'liar' ? { agent: LIAR } : {}
  const { status, body, since: at } = await call(by(), 'POST', '/v1/permits', { url, waitMs: WAIT_MS, ...agent })
  if (status !== 201) {
    await sleep(status === 200 ? 50 : 200)
    return
  }
  const held = body as Granted
  const end = (said: object = { status: 200 }): Promise<Told> =>
    call(by(), 'POST', `/v1/permits/${held.permit}/completion`, said)
  if (mode === 'liar') await end()
  const said = await exchange(held, at, Math.min(times.deadlineMs, held.leaseMs), mode === 'killed' ? 20 : undefined)
  if (said === 'unused') return void (await call(by(), 'DELETE', `/v1/permits/${held.permit}`))
  facts.exchanges[mode]++
  switch (mode) {
    case 'good':
      return void (await end(said))
    case 'killed': // nobody tells of its end
    case 'liar':
      return
    case 'twice':
      await end(said)
      return void (await end(said))
    case 'frozen':
      await sleep(times.leaseMs + times.quarantineMs)
      if ((await end(said)).status === 410) facts.gone++
      return
    case 'late':
      await sleep(held.leaseMs * 0.6)
      return void (await end(said))
    case 'for-ever': {
      let last = 200
      while (last !== 410 && last !== 404 && !options.signal.aborted) {
        await sleep(held.leaseMs / 3)
        last = (await call(by(), 'PATCH', `/v1/permits/${held.permit}`, {})).status
      }
      if (last === 410) facts.ended++
      return
    }
    default:
      return mode satisfies never
  }
}

/** Two hundred ask for one lane, one after the other; a process that is killed loses its line, and they ask again. */
async function standInLine(options: HoldersOptions, facts: HolderFacts): Promise<void> {
  const { bases, lineUrl, signal, times } = options
  const latest = new Map<string, number>()
  const stand = async (n: number): Promise<void> => {
    for (let tries = 0; !signal.aborted; tries++) {
      const [base] = bases()
      if (base === undefined) {
        await sleep(100)
        continue
      }
      const { status, body, since } = await call(
        base,
        'POST',
        '/v1/permits',
        { url: lineUrl(n), waitMs: 60_000 },
        signal,
      )
      if (status !== 201) {
        await sleep(100)
        continue
      }
      const held = body as Granted
      if (tries === 0 && n < (latest.get(base) ?? -1)) facts.inLine.outOfOrder++
      if (tries === 0) latest.set(base, n)
      facts.inLine.granted++
      const said = await exchange(held, since, Math.min(times.deadlineMs, held.leaseMs))
      const path = `/v1/permits/${held.permit}`
      await (said === 'unused' ? call(base, 'DELETE', path) : call(base, 'POST', `${path}/completion`, said))
      return
    }
  }
  const standing: Promise<void>[] = []
  for (let n = 0; n < IN_LINE && !signal.aborted; n++) {
    standing.push(stand(n))
    await sleep(20)
    // The one before has been read by then, however late its process is: these answers come after it. Or it loses its place.
    for (let turn = 0; turn < 3; turn++) await call(bases()[0] ?? '', 'GET', '/livez', undefined, signal)
  }
  await Promise.all(standing)
}

/** Nothing is sent later than it may be: the connection is made first. @param dieAfterMs  the connection is torn down then */
function exchange(
  { url, userAgent, sendWithinMs }: Granted,
  at: number,
  withinMs: number,
  dieAfterMs?: number,
): Promise<'unused' | { status: number; retryAfter?: string } | { error: string }> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    const failed = (error: Error): void => resolve({ error: error.message })
    const timer = setTimeout(() => socket.destroy(new Error('too long')), withinMs * 0.8)
    socket.once('close', () => clearTimeout(timer))
    socket.once('error', failed)
    socket.once('connect', () => {
      if (performance.now() - at > sendWithinMs / 2) {
        socket.destroy()
        return resolve('unused')
      }
      const headers = { 'user-agent': userAgent }
      const sent = request(url, { createConnection: () => socket, headers }, (answer) => {
        const { statusCode: status = 0, headers: got } = answer
        answer.resume().once('error', failed)
        answer.once('end', () => {
          socket.destroy()
          const retryAfter = got['retry-after']
          resolve({ status, ...(retryAfter === undefined ? {} : { retryAfter }) })
        })
        answer.once('close', () => failed(new Error('broke off')))
      })
      sent.once('error', failed)
      sent.end()
      if (dieAfterMs !== undefined) setTimeout(() => socket.destroy(new Error('dead')), dieAfterMs)
    })
  })
}

async function call(base: string, method: string, path: string, body?: object, signal?: AbortSignal): Promise<Told> {
  try {
    const headers = { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body), headers }
    const limit = AbortSignal.timeout(65_000)
    const end = signal === undefined ? limit : AbortSignal.any([limit, signal])
    const answer = await fetch(base + path, { method, signal: end, ...sent })
    const since = pulse.before
    return { status: answer.status, body: (await answer.json()) as Told['body'], since }
  } catch {
    return { status: 0, body: {}, since: 0 }
  }
}
