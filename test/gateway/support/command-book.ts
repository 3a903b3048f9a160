/**
 * Every command that a Redis carries out, scripts' own included (MONITOR), and whether each is bounded: may what it
 * costs grow with the number of lanes, of URLs that wait, of outcomes that nobody has read?
 */
import { monitorCommands } from '../../support/monitor.ts'

export type CommandBook = {
  /** written down so far */
  readonly count: number
  /** how often each command came */
  counts(): Map<string, number>
  /** commands that nobody has shown to be bounded, each once, with the reason */
  unbounded(): string[]
  /** resolves when this command is carried out once more */
  next(name: string): Promise<void>
  close(): void
}

export async function commandBook(url: string): Promise<CommandBook> {
  const counts = new Map<string, number>()
  const unbounded = new Set<string>()
  let waiting: { name: string; resolve: () => void }[] = []
  const monitor = await monitorCommands(url, ([first = '', ...args]) => {
    const name = first.toUpperCase()
    counts.set(name, (counts.get(name) ?? 0) + 1)
    const complaint = complaintAbout(name, args)
    if (complaint !== undefined) unbounded.add(`${name} ${args.join(' ').slice(0, 120)}: ${complaint}`)
    for (const one of waiting.filter((each) => each.name === name)) one.resolve()
    waiting = waiting.filter((each) => each.name !== name)
  })
  return {
    get count() {
      return [...counts.values()].reduce((sum, n) => sum + n, 0)
    },
    counts: () => new Map(counts),
    unbounded: () => [...unbounded],
    next: (name) => new Promise((resolve) => waiting.push({ name, resolve })),
    close: () => monitor.close(),
  }
}

/** Most items that one command may touch. */
const MOST = 1_000

/** Constant, or logarithmic, or as long as its own arguments. */
const CONSTANT = new Set(
  `AUTH BZPOPMIN CLIENT CLUSTER DEL EVAL EVALSHA EXEC EXISTS GET GETBIT HDEL HELLO HEXISTS HGET HINCRBY HLEN HMGET HMSET
   HSET HSETNX HSTRLEN INCR INCRBY INFO LINDEX LLEN LMOVE LPUSH LTRIM MULTI PEXPIRE PING PSETEX PTTL PUBLISH RPOP RPOPLPUSH RPUSH SADD SCARD
   SCRIPT SELECT SET SISMEMBER SREM SUBSCRIBE TIME TYPE UNLINK UNWATCH WATCH XACK XADD XCLAIM XDEL XGROUP XINFO XLEN
   ZADD ZCARD ZCOUNT ZMSCORE ZPOPMIN ZREM ZSCORE`.split(/\s+/),
)

/** Small by their nature: what is in work at once, who is alive, the crawls and those of one lane, the partitions. */
const SMALL = /:(active|stalled|fleet|crawls)$|:t:|^decorum:partitions$|^\{decorum:partitions\}:retired$/
/** Hashes of one origin, of one crawl, of one job, of counters by name. */
const SMALL_HASH = /:o:|:crawl:|:(candidates|orders):[^:]+$|:counts$/

/** @returns why the cost of a command may grow, undefined when it cannot */
export function complaintAbout(name: string, args: string[]): string | undefined {
  if (CONSTANT.has(name) || SMALL.test(args[0] ?? '')) return undefined
  const upper = args.map((arg) => arg.toUpperCase())
  const after = (word: string): number => Number(args[upper.indexOf(word) + 1 || args.length])
  switch (name) {
    case 'SUNIONSTORE':
      return args[0]?.endsWith(':waking') ? undefined : 'it is as long as its sets' // once per change by an operator
    case 'LRANGE':
      return span(Number(args[1]), Number(args[2]))
    case 'HSCAN':
      return atMost(after('COUNT'))
    case 'LPOP':
    case 'HRANDFIELD':
    case 'SPOP':
      return atMost(Number(args[1] ?? 1))
    case 'ZRANGE':
      return upper.includes('BYSCORE') ? atMost(limitOf(upper)) : span(Number(args[1]), Number(args[2]))
    case 'ZREVRANGE':
      return span(Number(args[1]), Number(args[2]))
    case 'ZRANGEBYSCORE':
      return atMost(limitOf(upper))
    case 'XRANGE':
    case 'XREVRANGE':
    case 'XREAD':
    case 'XREADGROUP':
      return atMost(after('COUNT'))
    case 'XPENDING':
      return args.length === 2 ? undefined : atMost(Number(args.at(-2)))
    case 'HGETALL':
      return SMALL_HASH.test(args[0] ?? '') ? undefined : 'a hash of any size'
    case 'LREM': // by its sign: from the end where it was seen a moment ago
      return args[1] === '-1' ? undefined : 'looks through the whole list when what it seeks is not near the end'
    case 'XTRIM':
      return undefined // what goes, goes once; a call's worth of it is bounded in packages/ledger/src/outcomes.ts
    case 'LPOS': // looks through what an operator drops, and that goes
      return undefined
    case 'ZREMRANGEBYRANK':
    case 'ZREMRANGEBYSCORE':
      return undefined // what goes, goes once
    default:
      return 'nobody has shown that it is bounded'
  }
}

const limitOf = (args: string[]): number => Number(args[args.indexOf('LIMIT') + 2 || args.length])
const atMost = (count: number): string | undefined => (count >= 0 && count <= MOST ? undefined : 'no bound in sight')

/** Ranks or indices, both from one end. */
function span(first: number, last: number): string | undefined {
  const sameEnd = first >= 0 === last >= 0
  return sameEnd && last - first < MOST ? undefined : 'from one end to the other'
}
