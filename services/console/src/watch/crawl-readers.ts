/** Readers of crawls beside the default one: of those crawls alone that may wait for a reader, and of a bounded number of them. */
import type { Crawl, Reader } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { DEFAULT_CRAWL } from '@decorum/protocol'

/** Crawls whose readers are looked at: those with most outcomes stored. Each costs one call per partition. */
const CRAWLS_LOOKED_AT = 20

/** @returns crawl by crawl, and of each those with most to read first; of a crawl that cannot be read, none */
export async function readersOfOthers(
  eyes: Pick<LedgerWithViews, 'readers'>,
  crawls: readonly Crawl[],
): Promise<Reader[]> {
  const stored = crawls.filter(({ name, unread }) => name !== DEFAULT_CRAWL && unread > 0)
  const looked = stored.sort((one, other) => other.unread - one.unread).slice(0, CRAWLS_LOOKED_AT)
  return (await Promise.all(looked.map(({ name }) => eyes.readers(name).catch(() => [])))).flat()
}
