/** The turn of a request, or of a tunnel: awaited while its client stays connected, and ended with its result. */

import { LedgerUnavailableError } from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { exactly, type Fetched, Lease } from '@decorum/sending'
import { type Answer, GoneError, type Granted, Problem, type Wish } from '@decorum/sending/granting'
import type { Parts } from './parts.ts'
import type { Waiting } from './places.ts'
import type { Refusal } from './refuse.ts'

/** Time before the next try when Redis does not answer. */
const AWAY_MS = 1_000
/** A lease is extended each time that this share of it has passed. */
const EXTENDED_AT = 1 / 3

export type Turn = { lease: Lease; delayMs: number }

/**
 * @returns the turn, which its request may use now, or the answer to the client instead
 * @throws GoneError when the client has gone
 */
export async function waitForTurn(wish: Wish, key: string, client: Waiting, parts: Parts): Promise<Turn | Refusal> {
  const over = parts.tally.waits(wish, parts.tools.ledger.clock)
  let answer: Answer
  try {
    answer = await answerInLine(wish, key, client, parts)
  } finally {
    over()
  }
  if (answer.kind === 'refused') throw answer.refused[0]?.problem ?? new Problem('bad-request', 'a URL is needed')
  if (answer.kind === 'wait') {
    const { gate, waitMs: retryAfterMs, ahead } = answer
    const detail = `not yet: ${gate}${ahead > 0 ? `, and ${ahead} requests are ahead` : ''}`
    return { status: 503, type: 'wait', error: 'destination_unavailable', detail, more: { gate, ahead, retryAfterMs } }
  }
  return opened(answer, wish, client, parts)
}

/** Retries while Redis does not answer. */
async function answerInLine(wish: Wish, key: string, client: Waiting, parts: Parts): Promise<Answer> {
  const { lines, places, config, tools } = parts
  const { clock } = tools.ledger
  const mostMs = config.PROXY_MAX_WAIT_MS === 0 ? Number.POSITIVE_INFINITY : config.PROXY_MAX_WAIT_MS
  const until = clock.monotonic() + mostMs
  for (;;) {
    const waitMs = Math.max(0, until - clock.monotonic())
    try {
      return await places.wait(key, client, (caller) => lines.request([wish], config.LEASE_MS, waitMs, caller))
    } catch (error) {
      if (!(error instanceof LedgerUnavailableError)) throw error
      if (waitMs < AWAY_MS) throw new Problem('ledger-away', 'Redis does not answer', { retryAfterMs: AWAY_MS })
      await clock.sleep(AWAY_MS)
      if (client.closed) throw new GoneError()
    }
  }
}

async function opened(
  answer: Granted,
  { agent }: Wish,
  client: Waiting,
  { config, lines, tools, reporter }: Parts,
): Promise<Turn> {
  const { turn } = answer
  if (turn.waitMs > 0) await exactly(tools.ledger.clock, turn.waitMs)
  if (client.closed) {
    await lines.release(answer)
    throw new Problem('caller-gone', 'the client has gone')
  }
  const durations = { fetchDeadlineMs: config.FETCH_DEADLINE_MS, leaseMs: config.LEASE_MS }
  return {
    lease: new Lease(agent, turn, durations, { ledger: tools.ledger, reporter }),
    delayMs: turn.leases.own.delayMs,
  }
}

/** Ends the turn: its delay begins, after which the next in line of this process tries. */
export async function endTurn({ lease, delayMs }: Turn, fetched: Fetched, { lines }: Parts): Promise<void> {
  const { agent, origin } = lease
  await lease.end(fetched)
  lines.ended(agent.key, origin, delayAfter(agent, delayMs, fetched.tookMs))
}

/**
 * Extends the lease while bytes move. When the exchange must end, `giveUp` is called with the reason.
 * @param moved  bytes that have passed so far, in both directions
 * @returns a function that stops extending
 */
export function keepLease(
  { lease }: Turn,
  moved: () => number,
  parts: Parts,
  giveUp: (reason: Error) => void,
): () => void {
  const { config, tools } = parts
  const { clock } = tools.ledger
  const begun = clock.monotonic()
  const everyMs = Math.max(50, Math.floor(lease.leaseMs * EXTENDED_AT))
  let [bytes, movedAt, isOver] = [moved(), begun, false]
  const end = (why: string): void => {
    if (!isOver) giveUp(new Error(why))
    isOver = true
  }
  const check = async (): Promise<void> => {
    const now = clock.monotonic()
    if (moved() !== bytes) [bytes, movedAt] = [moved(), now]
    if (now - begun > config.PERMIT_MAX_MS) return end(`a request lasts ${config.PERMIT_MAX_MS} ms at most`)
    if (now - movedAt >= config.FETCH_DEADLINE_MS) return end(`nothing has moved for ${config.FETCH_DEADLINE_MS} ms`)
    try {
      const answer = await lease.extend(tools.ledger, config.LEASE_MS)
      if (answer.kind === 'stale') end('the lease is over')
      else if (answer.stop === 'stopped') end('an operator has stopped requests to this site')
    } catch (error) {
      if (!(error instanceof LedgerUnavailableError)) throw error
      if (lease.stillHeld() !== undefined) end('the lease is over, and Redis did not extend it')
    }
  }
  let checking = false
  const timer = clock.interval(
    () => {
      if (checking || isOver) return
      checking = true
      void check().finally(() => {
        checking = false
      })
    },
    Math.min(everyMs, config.FETCH_DEADLINE_MS),
  )
  return () => {
    isOver = true
    clock.cancel(timer)
  }
}
