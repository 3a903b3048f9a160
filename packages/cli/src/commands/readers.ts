/** `decorum status readers`: lists the readers of outcomes, and the unacknowledged outcomes of each group. `decorum outcomes --forget` deletes a group. */
import { isRead, READER_DEAD_AFTER_MS, type Reader } from '@decorum/ledger'
import { printable } from '@decorum/protocol'
import { whoAmI } from '../agreed-settings.ts'
import { duration } from '../crawl/status.ts'
import { CommandError, DONE, type ExitCode } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { tell, tellJson } from '../terminal.ts'

export type ReadersOptions = { json?: boolean; crawl: string }
export type ForgetOptions = ReadersOptions & { group: string; reason?: string; by?: string; force?: boolean }

export async function readers({ crawl, json }: ReadersOptions): Promise<ExitCode> {
  return withFleetLedger<ExitCode>(async ({ ledger }) => {
    const list = await ledger.readers(crawl)
    if (json) tellJson({ crawl, readers: list })
    else tell(list.length === 0 ? `no group reads the outcomes of the crawl '${crawl}'` : table(list))
    return DONE
  })
}

/** @throws CommandError when there is no such group, or a reader is active in it */
export async function forgetReader(options: ForgetOptions): Promise<ExitCode> {
  const { crawl, group } = options
  const by = options.by?.trim() || whoAmI()
  const reason = options.reason?.trim() ?? ''
  return withFleetLedger<ExitCode>(async ({ ledger }) => {
    const silentForMs = options.force ? 0 : READER_DEAD_AFTER_MS
    const answer = await ledger.forgetReader({ crawl, group, by, reason, silentForMs })
    const name = printable(group)
    if (answer.kind === 'absent')
      throw new CommandError(`no group '${name}' reads the outcomes of the crawl '${crawl}'`)
    if (answer.kind === 'still-read')
      throw new CommandError(
        `somebody has read as '${name}' within the last minute: stop that reader first, or say --force`,
      )
    if (options.json) tellJson({ crawl, group, unread: answer.unread })
    else tell(`forgotten: '${name}', which had not acknowledged ${answer.unread} outcomes`)
    return DONE
  })
}

const HEAD = ['group', 'state', 'not handed out', 'not acknowledged', 'oldest', 'id', 'consumers', 'heard of']

/** One row for each group, followed by its consumers with unacknowledged outcomes. */
function table(list: readonly Reader[]): string {
  const rows = [HEAD, ...list.map(cellsOf)]
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? '')].length)))
  const line = (row: string[]): string =>
    row
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join('  ')
      .trimEnd()
  return rows.flatMap((row, n) => [line(row), ...(n === 0 ? [] : consumersOf(list[n - 1]))]).join('\n')
}

function cellsOf(reader: Reader): string[] {
  const { group, lag, lagIsLeast, pending, oldest, consumerCount, idleMs } = reader
  return [
    printable(group),
    isRead(reader) ? 'reading' : lag + pending === 0 ? 'has read all' : 'nobody reads',
    `${lagIsLeast ? 'over ' : ''}${lag}`,
    String(pending),
    oldest === undefined ? '-' : duration(oldest.ageMs),
    printable(oldest?.id ?? '-'),
    String(consumerCount),
    idleMs === undefined ? '-' : `${duration(idleMs)} ago`,
  ]
}

const consumersOf = (reader: Reader | undefined): string[] =>
  (reader?.consumers ?? [])
    .filter(({ pending }) => pending > 0)
    .map(({ name, pending, idleMs }) => `  ${printable(name)}: holds ${pending}, heard of ${duration(idleMs)} ago`)
