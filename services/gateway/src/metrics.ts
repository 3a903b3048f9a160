/** What a gateway counts. No label is an origin, so that the labels are few and known beforehand. */
import { Counter, collectDefaultMetrics, Registry } from 'prom-client'

export type GatewayMetrics = ReturnType<typeof gatewayMetrics>

export function gatewayMetrics() {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const counter = <T extends string>(name: string, help: string, labelNames: T[]): Counter<T> =>
    new Counter({ name: `decorum_gateway_${name}`, help, labelNames, registers: [registry] })
  return {
    registry,
    intake: counter('intake_total', 'candidates taken in: parked, absorbed (their id is stored), or ended at once', [
      'what',
    ]),
    orders: counter('orders_total', 'orders handed out: page, robots', ['kind']),
    dropped: counter('dropped_total', 'URLs that left a lane without a request, by outcome', ['kind']),
    waits: counter('waits_total', 'dispatch rounds that found nothing to do, by reason', ['why']),
    reaped: counter('reaped_total', 'leases that ended by themselves: started, reserved', ['what']),
  }
}
