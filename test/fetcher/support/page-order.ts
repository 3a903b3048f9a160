/** An order as a fetcher reads it, without anything of the test runner. What is not given here or by the caller has its default. */
import { type Order, ordersIn } from '@decorum/protocol'

export function pageOrder(origin: string, path = '/', over: Partial<Order> = {}): Order {
  const written = { agent: 'decorum', origin, path, fence: 1, version: 1, delayMs: 0, id: 'id-1' }
  const [read] = ordersIn({ orders: [written] }) ?? []
  if (read?.ok !== true) throw new Error(`this is not an order: ${JSON.stringify(read)}`)
  return { ...read.order, ...over }
}
