/** `decorum outcomes`: prints outcomes, one JSON line each. */
import { openFrontier } from '@decorum/client'
import { aborted } from '@decorum/protocol'
import { collect } from '../collect.ts'
import { UsageError } from '../exit.ts'
import { catchInterrupt } from '../interrupt.ts'
import { runningRedis } from '../running-redis.ts'
import { standardOutput } from '../standard-output.ts'
import { jsonLine } from '../terminal.ts'
import { type ForgetOptions, forgetReader } from './readers.ts'

export type OutcomesCommandOptions = ForgetOptions & { follow?: boolean; forget?: boolean }

/**
 * A line is acknowledged when it is on the disk, or when the pipe or terminal at stdout has accepted it; a reader that stops in between
 * receives it again.
 */
export async function outcomes(options: OutcomesCommandOptions): Promise<void> {
  if (options.forget) return forgetReader(options)
  const stray = (['force', 'reason', 'by'] as const).find((one) => options[one] !== undefined)
  if (stray !== undefined) throw new UsageError(`--${stray} belongs to --forget`)
  const frontier = await openFrontier({ redis: await runningRedis() })
  const interrupt = catchInterrupt(() => process.exit(1))
  const ending = aborted(interrupt.signal).then(() => frontier.close())
  try {
    const output = standardOutput()
    // a fixed name: lines that were printed and not acknowledged are redelivered at the next call
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
  } finally {
    interrupt.release()
    if (interrupt.signal.aborted) await ending
    else await frontier.close()
  }
}
