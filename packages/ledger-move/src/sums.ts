/** What partitions have counted since the beginning, and what crawls have used of their limits, goes on to count when one retires. */
import { CRAWL, CRAWL_MOVES, KEY } from '@decorum/ledger/stored'
import type { Mover } from './copy-key.ts'
import { moveScripts } from './scripts.ts'

const CRAWL_FIELDS = new Map<string, string>(
  (Object.keys(CRAWL) as (keyof typeof CRAWL)[]).map((name) => [CRAWL[name], CRAWL_MOVES[name]]),
)

/** @param crawls  the names of all crawls */
export async function moveSums(mover: Mover, from: string, to: string, crawls: readonly string[]): Promise<void> {
  await moveSum(mover, from, to, KEY.counts, () => 'sum')
  // A field without a name in CRAWL counts outcomes of a kind.
  for (const name of crawls)
    await moveSum(mover, from, to, `${KEY.crawl}${name}`, (field) => CRAWL_FIELDS.get(field) ?? 'sum')
}

async function moveSum(
  { redis, change }: Mover,
  from: string,
  to: string,
  name: string,
  moveOf: (field: string) => string,
): Promise<void> {
  const entries = Object.entries(await redis.hgetall(`${from}:${name}`))
  const sums = entries.filter(([field, value]) => moveOf(field) === 'sum' && value !== '0')
  const days = new Map(entries.filter(([field]) => moveOf(field) === 'day'))
  const fields = [...sums, ...days].map(([field]) => field)
  if (fields.length === 0) return
  const [day = '', today = '0'] = [days.get(CRAWL.day), days.get(CRAWL.today)]
  await change.write(to, moveScripts.putSums, { name, from, day, today }, sums.flat())
  await change.write(from, moveScripts.dropEntries, { name, kind: 'hash' }, fields)
}
