/** The readers of a crawl's outcomes, for the API; and the deletion of one. */
import { isRead, READER_DEAD_AFTER_MS, readerInTheWay } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { Problem } from '@decorum/runtime/http-api'
import type { z } from 'zod'
import type { ReaderAnswer } from './answers.ts'
import type { ForgetQuery } from './questions.ts'

export async function listReaders(
  ledger: LedgerWithViews,
  crawl: string,
  outcomesLimit: number,
): Promise<ReaderAnswer[]> {
  const [readers, unread] = await Promise.all([ledger.readers(crawl), ledger.unread(crawl)])
  const inTheWay = readerInTheWay(readers, unread, outcomesLimit)
  return readers.map((reader) => ({ ...reader, isRead: isRead(reader), pausesCrawl: reader === inTheWay }))
}

/** @param login  the operator, if the request does not name one */
export async function forget(
  ledger: LedgerWithViews,
  group: string,
  { crawl, by, reason, force }: z.output<typeof ForgetQuery>,
  login: string,
): Promise<{ crawl: string; group: string; unread: number } | Problem> {
  const silentForMs = force ? 0 : READER_DEAD_AFTER_MS
  const answer = await ledger.forgetReader({ crawl, group, by: by ?? login, reason, silentForMs })
  switch (answer.kind) {
    case 'forgotten':
      return { crawl, group, unread: answer.unread }
    case 'absent':
      return new Problem(404, 'no-such-reader', `no group '${group}' reads the crawl '${crawl}'`)
    case 'still-read':
      return new Problem(
        409,
        'still-read',
        `a reader of '${group}' was active within the last minute: stop it first, or give force=true`,
      )
    default:
      return answer satisfies never
  }
}
