/** `decorum stop`: emergency stops for everything or for named targets; lists and lifts them. User documentation: docs/stops.md. */
import { EVERYTHING, isInForce, nameForPeople, readStopName, type Stop, type StopRecord } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { printable } from '@decorum/protocol'
import { DONE, type ExitCode, FAILED, messageOf, UsageError } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { emptyList, linesOf, openInput } from '../lines.ts'
import { printResult, warn } from '../terminal.ts'
import { type Accountable, recorded } from '../who.ts'

type Named = Accountable & { all?: boolean; file?: string; json?: boolean }
/** `for`: length of the stop, ms */
export type StopOptions = Named & { until?: string; for?: number }

export async function stop(names: string[], options: StopOptions): Promise<ExitCode> {
  const who = recorded(options)
  if (who.reason === '') throw new UsageError('a stop needs --reason: it is recorded')
  if (options.until !== undefined && options.for !== undefined)
    throw new UsageError('--until or --for, not both: they could disagree')
  const untilAt = options.until === undefined ? undefined : readInstant(options.until)
  const wanted = await namesOf(names, options)
  return withFleetLedger(({ ledger }) => {
    const until = options.for === undefined ? untilAt : ledger.wall() + options.for
    const end = until === undefined ? {} : { until }
    return changed(() => ledger.stop({ names: wanted, ...who, ...end }), ledger, options)
  })
}

export async function lift(names: string[], options: Named): Promise<ExitCode> {
  const wanted = await namesOf(names, options)
  return withFleetLedger(({ ledger }) =>
    changed(() => ledger.lift({ names: wanted, ...recorded(options) }), ledger, options, wanted),
  )
}

/** @param options.ended  include ended stops: with --json, input of `decorum audit --stops` */
export const listStops = (options: { ended?: boolean; json?: boolean }): Promise<void> =>
  withFleetLedger(async ({ ledger }) => show(await ledger.stops.latest(), ledger.wall(), options))

type Change = () => Promise<{ record: StopRecord; unreached: number }>

async function changed(
  change: Change,
  ledger: LedgerWithViews,
  options: Named,
  lifted: string[] = [],
): Promise<ExitCode> {
  const { record, unreached } = await change()
  show(record, ledger.wall(), options, lifted)
  if (unreached === 0) return DONE
  warn(
    `${unreached} of ${ledger.tags.length} partitions do not answer: nothing can start there now, and each gets the stops as soon as it answers, while a process of the fleet runs`,
  )
  return FAILED
}

function show(
  record: StopRecord,
  now: number,
  { ended = false, json = false }: { ended?: boolean; json?: boolean },
  lifted: string[] = [],
): void {
  const stops = record.stops.filter((one) => ended || isInForce(one, now))
  const lines = lifted.map((name) => printable(`${nameForPeople(name)}: lifted`))
  if (stops.length > 0) lines.push(...stops.map((one) => lineOf(one, now)))
  else lines.push(lifted.length > 0 ? 'nothing is stopped any more' : 'nothing is stopped')
  printResult(json, { version: record.version, stops }, lines.join('\n'))
}

function lineOf(stop: Stop, now: number): string {
  const { name, at, by, reason, until, lifted } = stop
  const end =
    lifted !== undefined
      ? `lifted ${instant(lifted.at)} by ${lifted.by}${lifted.reason === '' ? '' : `: ${lifted.reason}`}`
      : until === undefined
        ? 'until it is lifted'
        : `${until > now ? 'until' : 'ended'} ${instant(until)}`
  return printable(`${nameForPeople(name)}: stopped ${instant(at)} by ${by}: ${reason} (${end})`)
}

const instant = (at: number): string => new Date(at).toISOString()

function readInstant(text: string): number {
  const at = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text)
    ? Date.parse(text)
    : Number.NaN
  if (Number.isNaN(at))
    throw new UsageError(`--until: an instant such as 2026-11-22T18:00Z is needed, not '${printable(text)}'`)
  return at
}

/** The targets in the arguments, all parsed before anything is done. */
async function namesOf(typed: string[], { all = false, file }: Named): Promise<string[]> {
  const names = typed.map(readStopName)
  if (file !== undefined) {
    for await (const { number, text } of linesOf(await openInput(file)))
      try {
        names.push(readStopName(text))
      } catch (error) {
        throw new UsageError(`${file}, line ${number}: ${messageOf(error)}`)
      }
    if (names.length === typed.length) throw emptyList(file)
  }
  if (all && names.length > 0) throw new UsageError('--all or names, not both: everything includes them')
  if (all) return [EVERYTHING]
  if (names.length === 0) throw new UsageError('name domains, hosts or addresses, or --file, or --all for everything')
  return names
}
