/** `decorum ledger partitions [NUMBER]`: shows the number of partitions, or changes it for a ledger in use. */
import { announceNew, readTags } from '@decorum/ledger'
import { type RepartitionProgress, repartition } from '@decorum/ledger/move'
import { CommandError, UsageError } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { some } from '../say.ts'
import { readCliSettings } from '../settings.ts'
import { onceASecond, printResult } from '../terminal.ts'
import { withRedis } from '../with-redis.ts'

export type PartitionsOptions = { json?: boolean; new?: boolean; restart?: boolean }

/** @param number  new number of partitions; undefined: the present ones are shown */
export async function partitions(number: number | undefined, options: PartitionsOptions): Promise<void> {
  const { json } = options
  if (options.restart) return announceStop(json)
  const { leaseMs, quarantineMs } = readCliSettings(process.env)
  return withRedis(async (redis) => {
    const { tags, retired } = await readTags(redis)
    if (options.new) {
      // The announcement becomes void as soon as a fleet has run on this Redis.
      if (tags.length > 0) throw new UsageError(`this Redis is not new: it holds ${list(tags, [])}`)
      await announceNew(redis)
      printResult(json, { new: true }, 'the next fleet that starts here within an hour does not wait')
      return
    }
    if (number === undefined) {
      const text = tags.length === 0 ? 'none yet' : list(tags, retired)
      printResult(json, { partitions: tags.length, tags, retired }, text)
      return
    }
    const onProgress = json ? () => undefined : onceASecond(progressLine)
    const done = await repartition({ redis, to: number, leaseMs, quarantineMs, onProgress })
    const moved = `${some(done.urls, 'URL')} in ${some(done.lanes, 'lane')} and what is known of ${some(done.origins, 'origin')} have moved`
    const text =
      done.from === done.to
        ? `${some(done.to, 'partition')} already; nothing was left to do`
        : `${some(done.from, 'partition')} became ${done.to}: ${moved}.\nStart the fleet with DECORUM_PARTITIONS=${done.to}.`
    printResult(json, done, text)
  })
}

/** Announces a restart of Redis. A lease that starts afterwards, in any process, withdraws the announcement. */
async function announceStop(json: boolean | undefined): Promise<void> {
  return withFleetLedger(async ({ ledger }) => {
    const views = await Promise.all(ledger.tags.map((_, partition) => ledger.viewPartition(partition)))
    const inFlight = views.reduce((sum, view) => sum + view.inFlight, 0)
    const running = (await ledger.members()).filter(({ role }) => role !== 'console')
    if (inFlight > 0 || running.length > 0) {
      const names = running.map(({ role, about }) => `${role} ${about?.pid ?? ''} on ${about?.host ?? '?'}`).join(', ')
      throw new CommandError(
        `stop the fleet first: ${some(inFlight, 'request is', 'requests are')} in flight${names === '' ? '' : `, and these run: ${names}`}`,
      )
    }
    await ledger.announceRestart()
    const text = 'nothing is in flight: after the restart of Redis nothing waits, unless a request is sent before'
    printResult(json, { restart: true }, text)
  })
}

const list = (tags: string[], retired: string[]): string =>
  [...tags, ...retired.map((tag) => `${tag}  retired: takes no new URLs; stored ones are still processed`)].join('\n')

function progressLine(now: RepartitionProgress): string {
  if (now.kind === 'ending')
    return `waiting until the ledger has forgotten ${some(now.processes, 'process', 'processes')} that ended without announcing it`
  if (now.kind !== 'waiting')
    return `moved: ${some(now.urls, 'URL')}, ${some(now.lanes, 'lane')}, ${some(now.origins, 'origin')}`
  if (now.leases > 0) return `waiting for ${some(now.leases, 'lease')} to end`
  return `waiting ${Math.ceil(now.holdMs / 1_000)} s: Redis has forgotten what it granted before`
}
