/** crawl: writes the record of a crawl in one partition. */
import { type CrawlRecord, isHeld } from '../crawls/record.ts'
import type { Written } from '../record/place.ts'
import type { Scripts } from '../scripts.ts'

/** @param expected  the version to be replaced; absent: any older one */
export async function crawl(scripts: Scripts, name: string, record: CrawlRecord, expected?: number): Promise<Written> {
  const { version, weight, limits = {} } = record
  const { values } = await scripts.call('crawl', {
    name,
    expected: expected ?? '',
    version,
    weight,
    held: isHeld(record) ? '1' : '',
    stored: limits.stored ?? '',
    perDay: limits.pagesPerDay ?? '',
    perHost: limits.pagesPerHost ?? '',
    perDomain: limits.pagesPerDomain ?? '',
    record: JSON.stringify(record),
  })
  return { kind: values[0] as Written['kind'], version: Number(values[1]) }
}
