/** `decorum outcomes`: what became of candidates, one JSON line each. */
import { openFrontier } from '@decorum/client'
import { aborted } from '@decorum/protocol'
import { collect } from '../collect.ts'
import { DONE, type ExitCode, UsageError } from '../exit.ts'
import { catchInterrupt } from '../interrupt.ts'
import { runningRedis } from '../running-redis.ts'
import { readCliSettings } from '../settings.ts'
import { standardOutput } from '../standard-output.ts'
import { jsonLine } from '../terminal.ts'
import { type ForgetOptions, forgetReader } from './readers.ts'

export type OutcomesCommandOptions = ForgetOptions & { follow?: boolean; forget?: boolean }

/**
 * A line is acknowledged when it is on the disk, or when the pipe or terminal behind stdout has taken it; a reader that ends
 * in between gets it again.
 */
export async function outcomes(options: OutcomesCommandOptions): Promise<ExitCode> {
  if (options.forget) return forgetReader(options)
  const stray = (['force', 'reason', 'by'] as const).find((one) => options[one] !== undefined)
  if (stray !== undefined) throw new UsageError(`--${stray} belongs to --forget`)
  const settings = readCliSettings(process.env)
  const frontier = await openFrontier({ redis: await runningRedis(settings, process.env) })
  const interrupt = catchInterrupt(() => process.exit(1))
  const ending = aborted(interrupt.signal).then(() => frontier.close())
  try {
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
