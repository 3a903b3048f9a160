/** `decorum ledger upgrade`: converts the stored form of an earlier version's ledger to this version's, while URLs wait there. */
import { layoutsOf, type Upgraded, upgrade as upgradeLedger } from '@decorum/ledger/move'
import { some } from '../say.ts'
import { onceASecond, printResult } from '../terminal.ts'
import { withRedis } from '../with-redis.ts'

export type UpgradeCommandOptions = { json?: boolean; back?: boolean; show?: boolean }

export function upgrade(options: UpgradeCommandOptions): Promise<void> {
  const { json, show, back = false } = options
  return withRedis(async (redis) => {
    if (show) {
      const layouts = await layoutsOf(redis)
      printResult(json, { layouts }, layouts.length === 0 ? 'no ledger yet' : `layout ${layouts.join(', ')}`)
      return
    }
    const onProgress = json ? () => undefined : onceASecond(progressLine)
    const done = await upgradeLedger({ redis, back, onProgress })
    const text = back ? `layout ${done.from} again: the earlier version may go on` : upgradeSentence(done)
    printResult(json, { ...done, back }, text)
  })
}

export function upgradeSentence({ from, to, processes, leases, closedMs }: Upgraded): string {
  if (from === to) return `layout ${to} already: nothing was left to do`
  const took = `closed for ${closedMs / 1_000} s; ${some(leases, 'lease is', 'leases are')} written anew`
  const others =
    processes === 0
      ? ''
      : `\n${some(processes, 'process', 'processes')} of the earlier version ran and will be refused from now on: end them.`
  return `layout ${from} became ${to}: ${took}. Processes of this version may run.${others}`
}

const progressLine = ({ leases, lanes }: Upgraded): string =>
  `written anew: ${some(leases, 'lease')}; held by a pause: ${some(lanes, 'lane')}`
