/** Readers of crawls other than the default one: only of crawls that may wait for a reader, and of a bounded number. */
import type { Crawl, Reader } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { DEFAULT_CRAWL } from '@decorum/protocol'

/** Most crawls whose readers are read: those with most outcomes stored. Each costs one call per partition. */
const CRAWLS_LOOKED_AT = 20

/** @returns readers by crawl, those with most to read first; none for a crawl that cannot be read */
export async function readersOfOthers(
  eyes: Pick<LedgerWithViews, 'readers'>,
  crawls: readonly Crawl[],
): Promise<Reader[]> {
  const stored = crawls.filter(({ name, unread }) => name !== DEFAULT_CRAWL && unread > 0)
  const looked = stored.sort((one, other) => other.unread - one.unread).slice(0, CRAWLS_LOOKED_AT)
  return (await Promise.all(looked.map(({ name }) => eyes.readers(name).catch(() => [])))).flat()
}
