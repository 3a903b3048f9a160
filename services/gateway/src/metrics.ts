/** Counters of a gateway. No label is an origin, so that the labels are few and known beforehand. */
import { BUILD } from '@decorum/config/fleet-config'
import { gaugeOf, ledgerMetrics, processMetrics } from '@decorum/runtime'
import { Counter, Registry } from '@decorum/runtime/prometheus'

export type GatewayMetrics = ReturnType<typeof gatewayMetrics>

/** @param configVersion  version of the configuration that this process uses */
export function gatewayMetrics(
  configVersion: () => number | undefined = () => undefined,
  memoryShare: () => number = () => 0,
) {
  const registry = new Registry()
  processMetrics(registry, BUILD, configVersion)
  const counter = <T extends string>(name: string, help: string, labelNames: T[]): Counter<T> =>
    new Counter({ name: `decorum_gateway_${name}`, help, labelNames, registers: [registry] })
  gaugeOf(registry, 'decorum_gateway_redis_memory_ratio', 'memory of Redis in use, of its maxmemory', memoryShare)
  return {
    registry,
    onCall: ledgerMetrics(registry),
    intake: counter(
      'intake_total',
      'candidates processed: parked (stored), absorbed (their id is stored already), or ended at once',
      ['what'],
    ),
    orders: counter('orders_total', 'orders handed out: page, robots', ['kind']),
    dropped: counter('dropped_total', 'URLs that left a lane without a request, by outcome', ['kind']),
    waits: counter('waits_total', 'dispatch rounds that found nothing to do, by reason', ['why']),
    reaped: counter('reaped_total', 'leases that expired: started, reserved', ['what']),
  }
}
