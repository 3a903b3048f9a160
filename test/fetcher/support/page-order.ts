/** An order as a gateway writes it, without anything of the test runner. */
import type { Order } from '@decorum/protocol'

export const pageOrder = (origin: string, path = '/', over: Partial<Order> = {}): Order => ({
  kind: 'page',
  agent: 'decorum',
  origin,
  path,
  fence: 1,
  version: 1,
  delayMs: 0,
  notBefore: 0,
  id: 'id-1',
  attempt: 1,
  hops: 0,
  priority: 'normal',
  ...over,
})
