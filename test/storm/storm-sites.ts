/** The storm's web: sites that are slow, busy, hidden, broken or strict, and the paths that a frontier has of each. */
import type { Site } from '../support/origins/index.ts'
import type { Times } from './manners.ts'

type Kind = {
  title: string
  site: (n: number, times: Times) => Omit<Site, 'name'> /** of the k-th URL */
  path?: (k: number) => string
}

const rules = (...lines: string[]) => ({ body: `${lines.join('\n')}\n`, type: 'text/plain' })
const OPEN = rules('User-agent: *', 'Disallow: /no')
const REDIRECTS = 400

/** Of fifteen sites, so many are of each kind. `hangs` and `resets` break off by themselves: told apart by their names. */
const KINDS: (Kind & { of15: number })[] = [
  {
    title: 'plain',
    of15: 4,
    site: () => ({ robots: OPEN, pages: { delayMs: 10 } }),
    path: (k) => (k % 8 === 7 ? `/no/${k}` : `/page/${k}`),
  },
  { title: 'free', of15: 2, site: () => ({ pages: { delayMs: 10 } }) },
  {
    title: 'delay',
    of15: 1,
    site: (_, { delayMs }) => ({ robots: rules('User-agent: *', `Crawl-delay: ${(delayMs * 2.4) / 1_000}`) }),
  },
  {
    title: 'tired',
    of15: 1,
    site: () => ({ robots: OPEN, pages: { cycle: [{}, {}, {}, {}, {}, { status: 429, retryAfter: '1' }] } }),
  },
  {
    title: 'busy',
    of15: 1,
    site: () => ({ robots: OPEN, pages: [{}, { status: 503 }, {}, {}, { status: 503 }, {}, {}, { status: 503 }, {}] }),
  },
  { title: 'late', of15: 1, site: () => ({ robots: [{ status: 503, retryAfter: '2' }, OPEN] }) },
  { title: 'slow', of15: 1, site: () => ({ robots: OPEN, pages: { delayMs: 120, dribbleMs: 120 } }) },
  {
    title: 'signs',
    of15: 1,
    site: (n) => ({
      robots: OPEN,
      paths: Object.fromEntries(
        Array.from({ length: REDIRECTS }, (_, k) => [
          `/go/${k}`,
          { status: 302, location: `{origin:free-${n}}/landed/${k}` },
        ]),
      ),
    }),
    path: (k) => (k % 3 === 0 && k / 3 < REDIRECTS ? `/go/${k / 3}` : `/page/${k}`),
  },
  {
    title: 'elsewhere',
    of15: 1,
    site: (n) => ({ robots: { status: 301, location: `{origin:plain-${n}}/rules.txt` } }),
  },
  {
    title: 'resets',
    of15: 1,
    site: () => ({ robots: OPEN, pages: { cycle: [{}, {}, {}, {}, { instead: 'reset' }] } }),
  },
  {
    title: 'hangs',
    of15: 1,
    site: () => ({ robots: OPEN, pages: { cycle: [{}, {}, {}, {}, {}, {}, {}, {}, {}, { instead: 'never' }] } }),
  },
]

export type StormSites = {
  sites: Site[]
  /** the k-th URL of the n-th site */
  url(origins: Record<string, string>, site: number, k: number): string
  /** hangs and resets are asked again by rule */
  breaksOff(origins: Record<string, string>): (origin: string) => boolean
}

/** @param count  at least so many sites */
export function stormSites(count: number, times: Times): StormSites {
  const rounds = Math.ceil(count / 15)
  const list = KINDS.flatMap((kind) => Array.from({ length: kind.of15 * rounds }, (_, n) => ({ kind, n })))
  const nameOf = ({ kind, n }: (typeof list)[number]): string => `${kind.title}-${n}`
  return {
    sites: list.map((one) => {
      const site: Site = { name: nameOf(one), ...one.kind.site(one.n, times) }
      // Where a robots.txt of another site leads to.
      return one.kind.title === 'plain' ? { ...site, paths: { '/rules.txt': OPEN } } : site
    }),
    url: (origins, site, k) => {
      const one = list[site % list.length] as (typeof list)[number]
      return `${origins[nameOf(one)]}${one.kind.path?.(k) ?? `/page/${k}`}`
    },
    breaksOff: (origins) => {
      const broken = new Set(
        list.filter(({ kind }) => kind.title === 'hangs' || kind.title === 'resets').map((one) => origins[nameOf(one)]),
      )
      return (origin) => broken.has(origin)
    },
  }
}
