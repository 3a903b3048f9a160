/** The readers of a crawl's outcomes, for the API; and the deletion of one. */
import { isRead, READER_DEAD_AFTER_MS, type Reader, readerInTheWay } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { Problem } from '@decorum/runtime/http-api'
import type { ReaderAnswer } from './answers.ts'

export async function listReaders(
  ledger: LedgerWithViews,
  crawl: string,
  outcomesLimit: number,
): Promise<ReaderAnswer[]> {
  const [readers, unread] = await Promise.all([ledger.readers(crawl), ledger.unread(crawl)])
  const inTheWay = readerInTheWay(readers, unread, outcomesLimit)
  return readers.map((reader) => answerOf(reader, reader === inTheWay))
}

const answerOf = (reader: Reader, isInTheWay: boolean): ReaderAnswer => ({
  ...reader,
  isRead: isRead(reader),
  pausesCrawl: isInTheWay,
})

/** @param force  delete it even while it is active */
export async function forget(
  ledger: LedgerWithViews,
  { crawl, group, by, reason, force }: { crawl: string; group: string; by: string; reason: string; force: boolean },
): Promise<{ crawl: string; group: string; unread: number } | Problem> {
  const silentForMs = force ? 0 : READER_DEAD_AFTER_MS
  const answer = await ledger.forgetReader({ crawl, group, by, reason, silentForMs })
  switch (answer.kind) {
    case 'forgotten':
      return { crawl, group, unread: answer.unread }
    case 'absent':
      return new Problem(404, 'no-such-reader', `no group '${group}' reads the crawl '${crawl}'`)
    case 'still-read':
      return new Problem(
        409,
        'still-read',
        `somebody has read as '${group}' within the last minute: stop that reader first, or say force=true`,
      )
    default:
      return answer satisfies never
  }
}
