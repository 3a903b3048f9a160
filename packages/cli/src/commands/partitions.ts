/** `decorum ledger partitions [NUMBER]`: shows the number of partitions, or changes it for a ledger in use. */
import { announceNew, type RedisLink, readTags } from '@decorum/ledger'
import { type RepartitionProgress, repartition } from '@decorum/ledger/move'
import { CommandError, DONE, type ExitCode, UsageError } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { runningRedis } from '../running-redis.ts'
import { readCliSettings } from '../settings.ts'
import { printJson, printText, warn } from '../terminal.ts'
import { withRedis } from '../with-redis.ts'

const REPORT_MS = 1_000

export type PartitionsOptions = { json?: boolean; new?: boolean; restart?: boolean }

/** @param number  undefined: only shows */
export async function partitions(number: number | undefined, options: PartitionsOptions): Promise<ExitCode> {
  if (options.restart) return printRestart(options)
  const settings = readCliSettings(process.env)
  return withRedis(await runningRedis(settings, process.env), async (redis) => {
    if (options.new) return await printNew(redis, options)
    if (number === undefined) {
      const { tags, retired } = await readTags(redis)
      printLine(
        options,
        { partitions: tags.length, tags, retired },
        tags.length === 0 ? 'none yet' : list(tags, retired),
      )
      return DONE
    }
    const { leaseMs, quarantineMs } = settings
    const onProgress = options.json ? () => undefined : progress()
    const done = await repartition({ redis, to: number, leaseMs, quarantineMs, onProgress })
    const moved = `${done.urls} URLs in ${done.lanes} lanes and what is known of ${done.origins} origins have moved`
    const text =
      done.from === done.to
        ? `there are ${done.to} partitions; nothing was left to do`
        : `${done.from} partitions became ${done.to}: ${moved}.\nStart the fleet with DECORUM_PARTITIONS=${done.to}.`
    printLine(options, done, text)
    return DONE
  })
}

/** Records an operator's statement that no request can be in flight; it becomes void as soon as a fleet has run there. */
async function printNew(redis: RedisLink, options: PartitionsOptions): Promise<ExitCode> {
  const { tags } = await readTags(redis)
  if (tags.length > 0) throw new UsageError(`this Redis is not new: it holds ${list(tags, [])}`)
  await announceNew(redis)
  printLine(options, { new: true }, 'the next fleet that starts here within an hour does not wait')
  return DONE
}

/** A lease that starts afterwards, in any process, withdraws the announcement. */
async function printRestart(options: PartitionsOptions): Promise<ExitCode> {
  return withFleetLedger<ExitCode>(async ({ ledger }) => {
    const views = await Promise.all(ledger.tags.map((_, partition) => ledger.viewPartition(partition)))
    const inFlight = views.reduce((sum, view) => sum + view.inFlight, 0)
    const running = (await ledger.members()).filter(({ role }) => role !== 'console')
    if (inFlight > 0 || running.length > 0) {
      const names = running.map(({ role, about }) => `${role} ${about?.pid ?? ''} on ${about?.host ?? '?'}`).join(', ')
      throw new CommandError(
        `stop the fleet first: ${inFlight} requests are in flight${names === '' ? '' : `, and these run: ${names}`}`,
      )
    }
    await ledger.announceRestart()
    printLine(
      options,
      { restart: true },
      'nothing is in flight: after the restart of Redis nothing waits, unless a request is sent before',
    )
    return DONE
  })
}

const printLine = ({ json }: { json?: boolean }, value: object, text: string): void =>
  json ? printJson(value) : printText(text)

const list = (tags: string[], retired: string[]): string =>
  [...tags, ...retired.map((tag) => `${tag}  retired: only what lies there is still read`)].join('\n')

/** One line a second, on stderr. */
function progress(): (now: RepartitionProgress) => void {
  let printedAt = 0
  return (now) => {
    if (performance.now() - printedAt < REPORT_MS && printedAt > 0) return
    printedAt = performance.now()
    warn(
      now.kind === 'ending'
        ? `waiting until the ledger has forgotten ${now.processes} processes that ended without announcing it`
        : now.kind === 'waiting'
          ? now.leases > 0
            ? `waiting for ${now.leases} leases to end`
            : `waiting ${Math.ceil(now.holdMs / 1_000)} s: Redis has forgotten what it granted before`
          : `moved: ${now.urls} URLs, ${now.lanes} lanes, ${now.origins} origins`,
    )
  }
}
