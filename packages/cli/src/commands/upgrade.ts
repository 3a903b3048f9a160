/** `decorum ledger upgrade`: converts the stored form of an earlier version's ledger to this version's, while URLs wait there. */
import { layoutsOf, type Upgraded, upgrade as upgradeLedger } from '@decorum/ledger/move'
import { DONE, type ExitCode } from '../exit.ts'
import { runningRedis } from '../running-redis.ts'
import { readCliSettings } from '../settings.ts'
import { printJson, printText, warn } from '../terminal.ts'
import { withRedis } from '../with-redis.ts'

const REPORT_MS = 1_000

export type UpgradeCommandOptions = { json?: boolean; back?: boolean; show?: boolean }

export async function upgrade(options: UpgradeCommandOptions): Promise<ExitCode> {
  return withRedis(await runningRedis(readCliSettings(process.env), process.env), async (redis): Promise<ExitCode> => {
    const back = options.back === true
    if (options.show) {
      const layouts = await layoutsOf(redis)
      if (options.json) printJson({ layouts })
      else printText(layouts.length === 0 ? 'no ledger yet' : `layout ${layouts.join(', ')}`)
      return DONE
    }
    const onProgress = options.json ? () => undefined : progress()
    const done = await upgradeLedger({ redis, back, onProgress })
    if (options.json) printJson({ ...done, back })
    else printText(back ? `layout ${done.from} again: the earlier version may go on` : upgradeSentence(done))
    return DONE
  })
}

export function upgradeSentence({ from, to, processes, leases, closedMs }: Upgraded): string {
  if (from === to) return `layout ${to} already: nothing was left to do`
  const took = `closed for ${closedMs / 1_000} s; ${leases} leases are written anew`
  const others =
    processes === 0
      ? ''
      : `\n${processes} processes of the earlier version ran: they are refused from now on; end them.`
  return `layout ${from} became ${to}: ${took}. Processes of this version may run.${others}`
}

/** One line a second, on stderr. */
function progress(): (now: Upgraded) => void {
  let printedAt = performance.now()
  return ({ leases, lanes }) => {
    if (performance.now() - printedAt < REPORT_MS) return
    printedAt = performance.now()
    warn(`written anew: ${leases} leases; held by a pause: ${lanes} lanes`)
  }
}
