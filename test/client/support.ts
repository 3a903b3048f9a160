/** A reader of one stream, as a frontier runs it, with the patience that a test gives it. */

import type { Delivery } from '@decorum/client'
import { Acknowledger, connectTo, type Patience, readOutcomes } from '@decorum/client/inside'
import { systemClock } from '@decorum/protocol'
import { onTestFinished } from 'vitest'

export const STREAM = '{decorum:0}:outcomes'

export async function readerOn(
  url: string,
  consumer: string,
  {
    held = new Set<string>(),
    wait = false,
    patience,
  }: { held?: Set<string>; wait?: boolean; patience?: Partial<Patience> } = {},
): Promise<{ deliveries: AsyncGenerator<Delivery, void, undefined> }> {
  const links = { own: await connectTo(url, systemClock), shared: await connectTo(url, systemClock) }
  const closing = new AbortController()
  onTestFinished(() => {
    closing.abort()
    for (const link of Object.values(links)) link.disconnect()
  })
  const acks = new Acknowledger(links.shared, systemClock)
  const options = { group: 'g', consumer, wait }
  const batches = readOutcomes({ links, acks, streams: [STREAM], options, held, closing: closing.signal, patience })
  async function* flat(): AsyncGenerator<Delivery, void, undefined> {
    for await (const batch of batches) yield* batch
  }
  return { deliveries: flat() }
}
