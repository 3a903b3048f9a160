/** `decorum outcomes`: what became of candidates, one JSON line each. */
import { openFrontier } from '@decorum/client'
import { aborted } from '@decorum/protocol'
import { collect } from '../collect.ts'
import { DONE, type ExitCode } from '../exit.ts'
import { catchInterrupt } from '../interrupt.ts'
import { runningRedis } from '../running-redis.ts'
import { readCliSettings } from '../settings.ts'
import { standardOutput } from '../standard-output.ts'
import { jsonLine } from '../terminal.ts'

export type OutcomesCommandOptions = { group: string; crawl: string; follow?: boolean; forget?: boolean }

/**
 * A line is acknowledged when it is on the disk, or when the pipe or terminal behind stdout has taken it; a reader that ends
 * in between gets it again.
 */
export async function outcomes(options: OutcomesCommandOptions): Promise<ExitCode> {
  const settings = readCliSettings(process.env)
  const frontier = await openFrontier({ redis: await runningRedis(settings, process.env) })
  const interrupt = catchInterrupt(() => process.exit(1))
  const ending = aborted(interrupt.signal).then(() => frontier.close())
  try {
    if (options.forget) {
      await frontier.removeGroup(options.group, options.crawl)
      return DONE
    }
    const output = await standardOutput()
    // A name of its own that stays: what was printed and not acknowledged comes again at the next call
    const reading = frontier.outcomes({
      crawl: options.crawl,
      group: options.group,
      consumer: 'decorum-outcomes',
      wait: options.follow === true,
    })
    await collect(
      reading,
      (some) => output(some.map(jsonLine).join('')),
      () => void frontier.close(),
    )
    return DONE
  } finally {
    interrupt.release()
    if (interrupt.signal.aborted) await ending
    else await frontier.close()
  }
}
