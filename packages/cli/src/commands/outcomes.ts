/** `decorum outcomes`: what became of candidates, one JSON line each. */
import { openFrontier } from '@decorum/client'
import { DONE, type ExitCode } from '../exit.ts'
import { aborted, catchInterrupt } from '../interrupt.ts'
import { runningRedis } from '../running-redis.ts'
import { readCliSettings } from '../settings.ts'
import { tellJsonInTurn } from '../terminal.ts'

export type OutcomesCommandOptions = { group: string; follow?: boolean; forget?: boolean }

/** Acknowledgements on their way: one round trip for all of them. */
const ACKS_AT_ONCE = 200

/** A line is acknowledged when stdout has taken it; a reader that goes away in between sees it again. */
export async function outcomes(options: OutcomesCommandOptions): Promise<ExitCode> {
  const settings = readCliSettings(process.env)
  const frontier = await openFrontier({ redis: await runningRedis(settings, process.env) })
  const interrupt = catchInterrupt(() => process.exit(1))
  const ending = aborted(interrupt.signal).then(() => frontier.close())
  const acks: Promise<void>[] = []
  try {
    if (options.forget) {
      await frontier.removeGroup(options.group)
      return DONE
    }
    // A name of its own that stays: what was printed and not acknowledged comes again at the next call
    const reading = frontier.outcomes({
      group: options.group,
      consumer: 'decorum-outcomes',
      wait: options.follow === true,
    })
    for await (const { outcome, ack } of reading) {
      await tellJsonInTurn(outcome)
      acks.push(ack().catch(() => undefined)) // Redis is away: it comes again at the next call
      if (acks.length >= ACKS_AT_ONCE) await Promise.all(acks.splice(0))
    }
    await Promise.all(acks)
    return DONE
  } finally {
    interrupt.release()
    if (interrupt.signal.aborted) await ending
    else await frontier.close()
  }
}
