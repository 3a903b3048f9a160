/** Outcomes as server-sent events. One write at a time, so a slow reader slows only its own stream. */

import type { ServerResponse } from 'node:http'
import type { Delivery, Frontier } from '@decorum/client'
import { systemClock } from '@decorum/protocol'
import type { Place } from './outcome-readers.ts'

export type StreamWish = {
  crawl: string
  group: string
  consumer: string
  follow: boolean
  /** most unacknowledged outcomes */
  max: number
  /** sent: outcomes are acknowledged once they are written to the connection; explicit: by the reader */
  ack: 'explicit' | 'sent'
}

/** Most acknowledgements in progress; beyond them the stream waits for the oldest. */
const ACKS_OUT = 100

/** Writes until one side ends the stream; the head has been written. */
export async function streamOutcomes(
  frontier: Frontier,
  wish: StreamWish,
  response: ServerResponse,
  { gone, why }: Place,
  heartbeatMs: number,
): Promise<void> {
  const { follow, ack, max, ...rest } = wish
  await write(response, ': open\n\n', gone)
  const beat = systemClock.interval(() => {
    if (!response.writableNeedDrain) response.write(': beat\n\n')
  }, heartbeatMs)
  try {
    const isSent = ack === 'sent'
    const outcomes = frontier.outcomes({ ...rest, wait: follow, signal: gone, ...(isSent ? {} : { max }) })
    await pass(outcomes, isSent, response, gone)
  } catch {
    response.destroy() // the only way to signal an error in the middle of a stream
  } finally {
    systemClock.cancel(beat)
  }
  finish(response, why())
}

async function pass(
  outcomes: AsyncIterable<Delivery>,
  isAcknowledged: boolean,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const acks: Promise<void>[] = []
  for await (const { id, outcome, ack } of outcomes) {
    const text = `event: outcome\nid: ${id}\ndata: ${JSON.stringify(outcome)}\n\n`
    if (!(await write(response, text, gone))) break
    if (!isAcknowledged) continue
    // If this fails, the outcome is redelivered to the next reader of this name: twice rather than never
    acks.push(ack().catch(() => undefined))
    if (acks.length > ACKS_OUT) await acks.shift()
  }
  await Promise.all(acks)
}

/** @returns whether the operating system has accepted the text; false when the reader left or had to stop before */
function write(response: ServerResponse, text: string, gone: AbortSignal): Promise<boolean> {
  if (gone.aborted || response.destroyed) return Promise.resolve(false)
  return new Promise((resolve) => {
    const stop = (): void => resolve(false)
    gone.addEventListener('abort', stop, { once: true })
    response.write(text, (error) => {
      gone.removeEventListener('abort', stop)
      resolve(error === null || error === undefined)
    })
  })
}

/** Sends the last event. A client that does not read it is disconnected after a second. */
function finish(response: ServerResponse, why: string): void {
  if (response.destroyed) return
  const late = systemClock.timeout(() => response.destroy(), 1_000)
  response.end(`event: end\ndata: ${why}\n\n`, () => systemClock.cancel(late))
}
