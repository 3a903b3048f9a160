/**
 * The demo's web: how each kind of site treats crawlers, and the expected outcome of each URL (`expect`). No request leaves
 * this machine. The audit does not read `expect`.
 */
import { MAX_PATH_BYTES, type OutcomeKind } from '@decorum/protocol'
import { defined } from '@decorum/runtime/defined'
import type { Script, Site } from '../synthetic-web/index.ts'

/** One URL for the crawl. `lifeMs`: its candidate expires after this time. */
export type DemoUrl = { url: string; agent: string; expect: OutcomeKind; lifeMs?: number }

/** Sites of one kind: their behaviour, and the URLs that the frontier has of each. */
type Kind = {
  name: string
  /** for the table at the end */
  title: string
  count: number
  site: (n: number) => Omit<Site, 'name'>
  /** path → expectation; a third member names the other agent */
  urls: [path: string, expect: OutcomeKind, agent?: string][]
  lifeMs?: number
}

/** Most URLs are fetched by the first agent. The contact is what a site would see in its log. */
export const DEMO_AGENTS = [
  {
    name: 'demobot',
    userAgent: 'Mozilla/5.0 (compatible; demobot/1.0; +https://example.com/demobot)',
    minDelayMs: 200,
    maxDelayMs: 10_000,
  },
  {
    name: 'demobot-images',
    fallbacks: ['demobot'],
    userAgent: 'Mozilla/5.0 (compatible; demobot-images/1.0; +https://example.com/demobot)',
    minDelayMs: 200,
    maxDelayMs: 10_000,
  },
]
const [FIRST, SECOND] = ['demobot', 'demobot-images']

/** Candidates of sites whose robots.txt stays unreachable expire after this, ms. */
const PATIENCE_MS = 18_000

const rules = (...lines: string[]): Script => ({ body: `${lines.join('\n')}\n`, type: 'text/plain' })
/** Items for the numbers from 1 to `count`. */
const each = <T>(count: number, item: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => item(n + 1))
const pages = (count: number, expect: OutcomeKind = 'fetched') =>
  each(count, (n): [string, OutcomeKind] => [`/page-${n}`, expect])

/** 600 KiB, of which crawlers read the first 500 KiB: a rule before the limit counts, a rule after it does not. */
const hugeRobots = (): Script => {
  const filler = each(15_000, (n) => `# ${'filler '.repeat(5)}${n}`)
  return rules('User-agent: *', 'Disallow: /early/', ...filler, 'Disallow: /late/')
}

export const KINDS: Kind[] = [
  {
    name: 'plain',
    title: 'a robots.txt like most',
    count: 8,
    site: () => ({ robots: rules('User-agent: *', 'Disallow: /admin/', 'Sitemap: {origin:plain-1}/sitemap.xml') }),
    urls: [...pages(9), ['/admin/users', 'disallowed']],
  },
  { name: 'none', title: 'no robots.txt (404)', count: 3, site: () => ({}), urls: pages(8) },
  {
    name: 'gone',
    title: 'no robots.txt any more (410)',
    count: 2,
    site: () => ({ robots: { status: 410 } }),
    urls: pages(8),
  },
  { name: 'empty', title: 'an empty robots.txt', count: 2, site: () => ({ robots: rules() }), urls: pages(8) },
  {
    name: 'recovers',
    title: 'robots.txt 503 twice, then rules',
    count: 3,
    site: () => ({
      robots: [
        { status: 503, retryAfter: '2' },
        { status: 503 },
        { body: 'User-agent: *\nDisallow: /private/\n', type: 'text/plain' },
      ],
    }),
    urls: [...pages(4), ['/private/letter', 'disallowed']],
  },
  {
    name: 'closed',
    title: 'robots.txt always 503',
    count: 3,
    site: () => ({ robots: { status: 503, body: 'User-agent: *\nAllow: /\n' } }),
    urls: pages(4, 'expired'),
    lifeMs: PATIENCE_MS,
  },
  {
    name: 'silent',
    title: 'robots.txt never answers',
    count: 2,
    site: () => ({ robots: { instead: 'never' } }),
    urls: pages(3, 'expired'),
    lifeMs: PATIENCE_MS,
  },
  {
    name: 'brisk',
    title: 'crawl-delay 0.2',
    count: 3,
    site: () => ({ robots: rules('User-agent: *', 'Crawl-delay: 0.2') }),
    urls: pages(12),
  },
  {
    name: 'calm',
    title: 'crawl-delay 0.5',
    count: 3,
    site: () => ({ robots: rules('User-agent: demobot', 'Crawl-delay: .5') }),
    urls: pages(10),
  },
  {
    name: 'sleepy',
    title: 'crawl-delay 100, clamped to 10 s',
    count: 2,
    site: () => ({ robots: rules('User-agent: *', 'Crawl-delay: 100') }),
    urls: pages(3),
  },
  {
    name: 'divided',
    title: 'other rules for another agent',
    count: 3,
    site: () => ({
      robots: rules(
        ...['User-agent: demobot-images', 'Allow: /images/', 'Disallow: /', 'Crawl-delay: 0.5', ''],
        ...['User-agent: *', 'Disallow: /images/'],
      ),
    }),
    urls: [
      ...pages(5),
      ['/images/1.png', 'disallowed'],
      ...each(5, (n): [string, OutcomeKind, string] => [`/images/${n}.png`, 'fetched', SECOND]),
      ['/page-1', 'disallowed', SECOND],
    ],
  },
  {
    name: 'moved',
    title: 'robots.txt on another host',
    count: 2,
    site: (n) => ({ robots: { status: 301, location: `{origin:rules-${n}}/rules.txt` } }),
    urls: [...pages(5), ['/elsewhere/page', 'disallowed']],
  },
  {
    name: 'forbidden',
    title: 'everything disallowed',
    count: 3,
    site: () => ({ robots: rules('User-agent: *', 'Disallow: /') }),
    urls: [
      ['/', 'disallowed'],
      ['/page-1', 'disallowed'],
      ['/page-2', 'disallowed'],
    ],
  },
  {
    name: 'patterns',
    title: 'rules with * and $',
    count: 3,
    site: () => ({
      robots: rules('User-agent: *', 'Disallow: /*.pdf$', 'Allow: /open/*.pdf$', 'Disallow: /*?session='),
    }),
    urls: [
      ['/paper.pdf', 'disallowed'],
      ['/paper.pdf.html', 'fetched'],
      ['/open/paper.pdf', 'fetched'],
      ['/shop?session=7', 'disallowed'],
      ['/shop?item=7', 'fetched'],
      ['/deep/er/paper.pdf', 'disallowed'],
    ],
  },
  {
    name: 'slow',
    title: 'a slow server (0.7 s a page)',
    count: 3,
    site: () => ({ robots: rules(), pages: { delayMs: 400, dribbleMs: 300 } }),
    urls: pages(6),
  },
  {
    name: 'tired',
    title: '429 with Retry-After: 2',
    count: 3,
    site: () => ({ robots: rules(), pages: { cycle: [{}, {}, {}, { status: 429, retryAfter: '2' }] } }),
    urls: pages(7),
  },
  {
    name: 'signs',
    title: 'redirects, also to what is forbidden',
    count: 2,
    site: (n) => ({
      robots: rules('User-agent: *', 'Disallow: /hidden'),
      paths: {
        '/to-forbidden': { status: 302, location: `{origin:forbidden-${n}}/welcome` },
        '/to-page': { status: 301, location: `{origin:plain-${n}}/landing` },
        '/to-hidden': { status: 307, location: '/hidden' },
      },
    }),
    urls: [['/to-forbidden', 'redirected'], ['/to-page', 'redirected'], ['/to-hidden', 'redirected'], ...pages(3)],
  },
  {
    name: 'huge',
    title: 'a robots.txt of 600 KiB',
    count: 1,
    site: () => ({ robots: hugeRobots() }),
    urls: [
      ['/early/page', 'disallowed'],
      ['/late/page', 'fetched'],
      ['/page', 'fetched'],
    ],
  },
  {
    name: 'rules',
    title: 'the other host',
    count: 2,
    site: () => ({ paths: { '/rules.txt': rules('User-agent: *', 'Disallow: /elsewhere/') } }),
    urls: [],
  },
]

/** URLs that cannot be fetched; pages often contain such links. */
export const BAD_URLS: DemoUrl[] = [
  { url: 'javascript:void(0)', agent: FIRST, expect: 'invalid' },
  { url: 'ftp://127.40.0.1/file', agent: FIRST, expect: 'invalid' },
  { url: 'http://', agent: FIRST, expect: 'invalid' },
  { url: `http://127.40.0.1/${'long/'.repeat(MAX_PATH_BYTES / 4)}`, agent: FIRST, expect: 'invalid' },
  { url: 'http://127.40.0.1:25/', agent: FIRST, expect: 'failed' },
]

/** Every site, with its kind and its number among the sites of this kind. */
const SITES = KINDS.flatMap((kind) => each(kind.count, (n) => ({ name: `${kind.name}-${n}`, kind, n })))

export const demoSites = (): Site[] => SITES.map(({ name, kind, n }) => ({ name, ...kind.site(n) }))

/** Every URL of the demo, in the order of a frontier that takes one URL of each site in turn. */
export function demoUrls(origins: Record<string, string>): DemoUrl[] {
  const bySite = SITES.map(({ name, kind: { urls, lifeMs } }) =>
    urls.map(([path, expect, agent = FIRST]) => ({
      ...{ url: `${origins[name]}${path}`, agent, expect },
      ...defined({ lifeMs }),
    })),
  )
  const longest = Math.max(...bySite.map((urls) => urls.length))
  return [...each(longest, (n) => bySite.flatMap((urls) => urls.slice(n - 1, n))).flat(), ...BAD_URLS]
}

/** Returns a function that gives the kind of an origin's site; undefined for other origins. */
export function kindOf(origins: Record<string, string>): (origin: string) => Kind | undefined {
  const byOrigin = new Map(SITES.map(({ name, kind }) => [origins[name] ?? '', kind]))
  return (origin) => byOrigin.get(origin)
}
