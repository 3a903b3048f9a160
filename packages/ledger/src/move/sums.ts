/** Moves counts of a partition that retires: totals since the beginning, and what crawls have used of their limits. */
import { CRAWL, CRAWL_MOVES, KEY, keysOf } from '../stored.ts'
import type { Mover } from './copy-key.ts'

/** Fields of a crawl that are not summed. A field without a name in CRAWL counts outcomes of a kind, and is summed. */
const STAY = (Object.keys(CRAWL) as (keyof typeof CRAWL)[])
  .filter((name) => CRAWL_MOVES[name] !== 'sum')
  .map((name): string => CRAWL[name])

/** @param crawls  the names of all crawls */
export async function moveSums(mover: Mover, from: string, to: string, crawls: readonly string[]): Promise<void> {
  await moveSum(mover, from, to, KEY.counts, [])
  for (const name of crawls) await moveSum(mover, from, to, `${KEY.crawl}${name}`, STAY)
}

/** Adds a sum once, however often the move is repeated. The counts of a day are added if the days are equal; else the later day stays. */
async function moveSum(
  { redis, change }: Mover,
  from: string,
  to: string,
  name: string,
  stay: readonly string[],
): Promise<void> {
  const [here, there] = [`${from}:${name}`, `${to}:${name}`]
  const { [CRAWL.day]: day, [CRAWL.today]: today = '0', ...fields } = await redis.hgetall(here)
  const sums = Object.entries(fields).filter(([field, value]) => !stay.includes(field) && value !== '0')
  if (sums.length === 0 && day === undefined) return
  const { moved } = keysOf(to)
  const mark = `sum ${from} ${name}`
  if ((await redis.sismember(moved, mark)) === 0) {
    const add = sums.map(([field, value]) => ['HINCRBY', there, field, value])
    const known = Number((await redis.hget(there, CRAWL.day)) ?? 0)
    if (day !== undefined && Number(day) === known) add.push(['HINCRBY', there, CRAWL.today, today])
    if (day !== undefined && Number(day) > known) add.push(['HSET', there, CRAWL.day, day, CRAWL.today, today])
    await change.write(to, ['SADD', moved, mark], ...add)
  }
  await change.write(from, ['HDEL', here, CRAWL.day, CRAWL.today, ...sums.map(([field]) => field)])
}
