/**
 * A web by Zipf's law, in numbers, and the frontier that feeds it: the n-th largest origin has 1/n of the largest one's
 * URLs, up to what a frontier would ever ask of one site. Every figure follows from the seed.
 */
import type { StoreItem } from '@decorum/ledger'

export type Web = {
  origins: number
  urls: number
  /** URLs of each origin, largest first */
  sizes: Int32Array
  name(origin: number): string
  indexOf(name: string): number
  /** its robots.txt: shared by many, as on the web */
  robots(origin: number): Uint8Array
  /** silence that this robots.txt asks for, seconds */
  delay(origin: number): number
  /** how long an exchange takes, ms: log-normal, median 200, mean 275, at most 10,000 */
  exchangeMs(): number
}

/** Of a hundred origins so many ask for a longer silence, s. */
const DELAYS = [
  { seconds: 10, share: 1 },
  { seconds: 5, share: 2 },
  { seconds: 2, share: 2 },
]

export type WebSize = { origins: number; urls: number /** most URLs of one origin */; cap: number; seed: number }

export function zipfWeb({ origins, urls, cap, seed }: WebSize): Web {
  const sizes = sizesOf(origins, urls, cap)
  const random = seeded(seed)
  const delay = (origin: number): number => {
    let part = (origin * 2_654_435_761) % 100
    for (const { seconds, share } of DELAYS) {
      part -= share
      if (part < 0) return seconds
    }
    return 0
  }
  const bodies = new Map([0, ...DELAYS.map(({ seconds }) => seconds)].map((seconds) => [seconds, robotsWith(seconds)]))
  return {
    origins,
    urls: sizes.reduce((sum, size) => sum + size, 0),
    sizes,
    name: (origin) => `https://www.host-${origin}.example`,
    indexOf: (name) => Number(name.slice('https://www.host-'.length, -'.example'.length)),
    robots: (origin) => bodies.get(delay(origin)) as Uint8Array,
    delay,
    exchangeMs: () => Math.min(10_000, 200 * Math.exp(0.8 * normal(random))),
  }
}

/** `min(cap, C/rank)` and at least 1, C chosen so that the sum is what was asked for. */
function sizesOf(origins: number, urls: number, cap: number): Int32Array {
  const withTop = (top: number): Int32Array =>
    Int32Array.from({ length: origins }, (_, at) => Math.max(1, Math.min(cap, Math.round(top / (at + 1)))))
  let [low, high] = [1, urls]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (withTop(middle).reduce((sum, size) => sum + size, 0) < urls) low = middle
    else high = middle
  }
  return withTop(high)
}

function robotsWith(delay: number): Uint8Array {
  const rules = Array.from({ length: 14 }, (_, i) => `Disallow: /section-${i}/${i % 3 === 0 ? '*' : ''}private`)
  const lines = ['User-agent: *', ...(delay > 0 ? [`Crawl-delay: ${delay}`] : []), 'Disallow: /members/', ...rules]
  return new TextEncoder().encode(`${lines.join('\n')}\n`)
}

export type Frontier = {
  /** URLs not yet given out */
  readonly left: number
  /** up to `most` URLs; fewer when every origin with URLs left has its share stored */
  next(most: number): StoreItem[]
  /** a URL of this origin has its outcome */
  done(origin: number): void
}

/** URLs of one origin that follow each other. */
const TOGETHER = 20
/** One of so many URLs is forbidden by its robots.txt. */
const FORBIDDEN_EVERY = 100

/** Gives every origin one URL, then goes round in laps, and never stores more than `share` of one origin. */
export function frontierOf(web: Web, agent: string, share: number): Frontier {
  const left = web.sizes.slice()
  const stored = new Int32Array(web.origins)
  let lap = shuffled(web.origins)
  let kept = 0 //    origins of this lap that come again, at its front
  let at = 0
  let together = 1
  let total = web.urls
  const item = (origin: number): StoreItem => {
    const n = left[origin] as number
    left[origin] = n - 1
    const name = web.name(origin)
    const path =
      (n + origin) % FORBIDDEN_EVERY === 0
        ? `/members/a-page-${n}`
        : `/articles/2026/11/20/a-title-of-usual-length-${n}`
    return {
      lane: { agent, origin: name },
      pending: {
        id: `${origin.toString(36)}-${n.toString(36)}`,
        path: path.padEnd(90 - name.length, '-'),
        expiresAt: 4_000_000_000_000,
        hops: 0,
        priority: 'normal',
      },
    }
  }
  return {
    get left() {
      return total
    },
    next(most) {
      const items: StoreItem[] = []
      for (let looked = lap.length; items.length < most && looked > 0 && lap.length > 0; looked--) {
        const origin = lap[at++] as number
        const give = Math.min(left[origin] as number, together, share - (stored[origin] as number), most - items.length)
        for (let i = 0; i < give; i++) items.push(item(origin))
        stored[origin] = (stored[origin] as number) + give
        total -= give
        if ((left[origin] as number) > 0) lap[kept++] = origin
        if (at < lap.length) continue
        lap = lap.subarray(0, kept)
        kept = 0
        at = 0
        together = TOGETHER
      }
      return items
    },
    done(origin) {
      stored[origin] = (stored[origin] as number) - 1
    },
  }
}

/** All origins in an order that has nothing to do with their size. */
function shuffled(count: number): Int32Array {
  let stride = Math.floor(count * 0.618) | 1
  while (divisor(stride, count) > 1) stride += 2
  return Int32Array.from({ length: count }, (_, i) => (i * stride) % count)
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Box–Muller */
const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
