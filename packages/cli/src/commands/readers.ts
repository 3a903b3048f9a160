/** `decorum status readers`: lists the readers of outcomes, and the unacknowledged outcomes of each group. `decorum outcomes --forget` deletes a group. */
import { length } from '@decorum/console/words'
import { isRead, READER_DEAD_AFTER_MS, type Reader } from '@decorum/ledger'
import { printable } from '@decorum/protocol'
import { CommandError } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { some } from '../say.ts'
import { columns, printResult } from '../terminal.ts'
import { type Accountable, recorded } from '../who.ts'

export type ReadersOptions = { json?: boolean; crawl: string }
export type ForgetOptions = ReadersOptions & Accountable & { group: string; force?: boolean }

export function readers({ crawl, json }: ReadersOptions): Promise<void> {
  return withFleetLedger(async ({ ledger }) => {
    const list = await ledger.readers(crawl)
    const lines = list.length === 0 ? [`no group reads the outcomes of the crawl '${crawl}'`] : table(list)
    printResult(json, { crawl, readers: list }, lines.join('\n'))
  })
}

/** @throws CommandError when there is no such group, or a reader is active in it */
export function forgetReader(options: ForgetOptions): Promise<void> {
  const { crawl, group } = options
  return withFleetLedger(async ({ ledger }) => {
    const silentForMs = options.force ? 0 : READER_DEAD_AFTER_MS
    const answer = await ledger.forgetReader({ crawl, group, ...recorded(options), silentForMs })
    const name = printable(group)
    if (answer.kind === 'absent')
      throw new CommandError(`no group '${name}' reads the outcomes of the crawl '${crawl}'`)
    if (answer.kind === 'still-read')
      throw new CommandError(`a reader of '${name}' was active within the last minute: stop it first, or give --force`)
    const { unread } = answer
    const text = `forgotten: '${name}', which had ${some(unread, 'unread outcome')}`
    printResult(options.json, { crawl, group, unread }, text)
  })
}

const HEAD = ['group', 'state', 'not handed out', 'not acknowledged', 'oldest', 'id', 'consumers', 'last seen']

/** One row for each group, followed by its consumers with unacknowledged outcomes. */
function table(list: readonly Reader[]): string[] {
  const lines = columns([HEAD, ...list.map(cellsOf)])
  return lines.flatMap((line, n) => [line, ...consumersOf(list[n - 1])])
}

function cellsOf(reader: Reader): string[] {
  const { group, lag, lagIsLeast, pending, oldest, consumerCount, idleMs } = reader
  return [
    printable(group),
    isRead(reader) ? 'reading' : lag + pending === 0 ? 'has read all' : 'nobody reads',
    `${lagIsLeast ? 'over ' : ''}${lag}`,
    String(pending),
    oldest === undefined ? '-' : length(oldest.ageMs),
    printable(oldest?.id ?? '-'),
    String(consumerCount),
    idleMs === undefined ? '-' : `${length(idleMs)} ago`,
  ]
}

const consumersOf = (reader: Reader | undefined): string[] =>
  (reader?.consumers ?? [])
    .filter(({ pending }) => pending > 0)
    .map(({ name, pending, idleMs }) => `  ${printable(name)}: holds ${pending}, last seen ${length(idleMs)} ago`)
