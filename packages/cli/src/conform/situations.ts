/**
 * The situations for a pool worker: each has separate sites, URLs, their expected outcomes, and the correct behaviour. Those without
 * `act` run in parallel; after them, the others (interruptions.ts) run one after the other.
 */
import { CUT_BYTES, PLAIN } from './header-site.ts'
import { INTERRUPTIONS } from './interruptions.ts'
import { AGENT, CONFORM } from './settings.ts'
import { at, ifFetched, isFetched, isKind, isLate, leastOpenMs, type Situation, SLACK_MS } from './situation.ts'

export const SITUATIONS: Situation[] = [
  {
    name: 'page',
    means: 'fetches it once and says what came',
    sites: { site: {} },
    urls: at('/page'),
    judge: [isFetched('page', { status: 200, bytes: 1_024, truncated: '', attempts: 1 })],
  },
  {
    name: 'headers',
    means: 'sends the method and headers of the order, and none that say more about it',
    urls: ({ headers }) => ({
      own: { url: `${headers}/own`, headers: { 'x-trace': 'a1' } },
      head: { url: `${headers}/head`, method: 'HEAD' },
      changed: { url: `${headers}/changed`, ifNoneMatch: '"v1"' },
    }),
    judge: [
      ({ received }) => [
        ...received.flatMap(({ path, headers }) => [
          headers['user-agent'] !== AGENT.userAgent && `${path}: User-Agent was ${headers['user-agent'] ?? 'missing'}`,
          headers.referer !== undefined && `${path}: a Referer was sent`,
        ]),
        received.every(({ path, headers }) => path !== '/own' || headers['x-trace'] !== 'a1') && 'x-trace was not sent',
        received.every(({ path, method }) => path !== '/head' || method !== 'HEAD') && 'HEAD was asked for as GET',
      ],
      isFetched('head', { status: 200, bytes: 0 }),
      isFetched('changed', { status: 304, unchanged: true }),
    ],
  },
  {
    name: 'cookies',
    means: 'sends no cookies back',
    urls: ({ headers }) => ({ one: `${headers}/cookie-1`, two: `${headers}/cookie-2` }),
    judge: [
      ({ received }) => [received.some(({ headers }) => headers.cookie !== undefined) && 'a cookie was sent'],
      isFetched('one', { status: 200 }),
    ],
  },
  {
    name: 'not-found',
    means: 'says 404, which is an answer like any other',
    sites: { site: { paths: { '/gone': { status: 404 } } } },
    urls: at('/gone'),
    judge: [isFetched('page', { status: 404, attempts: 1 })],
  },
  {
    name: 'empty',
    means: 'completes an answer without a body',
    sites: { site: { paths: { '/none': { status: 204, body: '' } } } },
    urls: at('/none'),
    judge: [isFetched('page', { status: 204, bytes: 0 })],
  },
  {
    name: 'redirect',
    means: 'reports a redirect and does not follow it: the target is an order of its own, if the rules allow it',
    sites: {
      site: {
        paths: {
          '/a': { status: 302, location: '{origin:redirect-other}/yes' },
          '/b': { status: 301, location: '{origin:redirect-other}/no' },
        },
      },
      other: { robots: { body: 'User-agent: *\nDisallow: /no\n' } },
    },
    urls: ({ site }) => ({ a: `${site}/a`, b: `${site}/b` }),
    most: 3,
    judge: [isKind('a', 'redirected'), isKind('b', 'redirected')],
  },
  {
    name: 'redirect-here',
    means: 'leaves the delay of the lane between a redirect and its target',
    sites: { site: { paths: { '/a': { status: 307, location: '/b' } } } },
    urls: at('/a'),
    most: 2,
    judge: [isKind('page', 'redirected')],
  },
  {
    name: 'too-many',
    means: 'reports 429 and its Retry-After; retries only on a new order',
    sites: { site: { pages: [{ status: 429, retryAfter: '2' }, {}] } },
    urls: at('/busy'),
    most: 2,
    judge: [isFetched('page', { status: 200, attempts: 2 })],
  },
  {
    name: 'unavailable',
    means: 'reports 503; retries only on a new order',
    sites: { site: { pages: [{ status: 503 }, {}] } },
    urls: at('/busy'),
    most: 2,
    judge: [isFetched('page', { status: 200, attempts: 2 })],
  },
  {
    name: 'slow',
    means: 'waits for a slow answer, and says that it has ended when it has',
    sites: { site: { pages: { delayMs: 1_500 } } },
    urls: ({ site }) => ({ page: `${site}/slow`, next: `${site}/next` }),
    judge: [isFetched('page', { status: 200, attempts: 1 }), isLate('page', '/slow'), isLate('next', '/next')],
  },
  {
    name: 'long',
    means: 'extends its permit while an answer takes longer than the lease, or gives up before that',
    sites: { site: { pages: [{ dribbleMs: CONFORM.LEASE_MS + 4_000 }, {}] } },
    urls: at('/long'),
    most: 2,
    judge: [isKind('page', 'fetched', 'failed')],
  },
  {
    name: 'deadline',
    means: 'hangs up when the deadline of the order is over',
    sites: { site: { pages: [{ instead: 'never' }, {}] } },
    urls: ({ site }) => ({ page: { url: `${site}/never`, deadlineMs: 1_500 } }),
    most: 2,
    judge: [
      ({ requests }) =>
        requests.map((request) => {
          const openMs = leastOpenMs(request)
          return openMs > 1_500 + SLACK_MS && `${request.path}: open for ${Math.round(openMs)} ms`
        }),
    ],
  },
  {
    name: 'reset',
    means: 'says that no answer came, and leaves the next try to an order',
    sites: { site: { pages: [{ instead: 'reset' }, {}] } },
    urls: at('/reset'),
    most: 2,
    judge: [isFetched('page', { status: 200, attempts: 2 })],
  },
  {
    name: 'big',
    means: 'reads no more than maxBytes and says that it cut the body',
    sites: { site: { pages: { bytes: 4 * CONFORM.PAGE_MAX_BYTES } } },
    urls: at('/big'),
    judge: [
      isFetched('page', { truncated: 'length', attempts: 1 }),
      ifFetched('page', ({ bytes }) => [bytes > CONFORM.PAGE_MAX_BYTES && `bytes: ${bytes}`]),
    ],
  },
  {
    name: 'compressed',
    means: 'sends a body without its content coding',
    urls: ({ headers }) => ({ page: `${headers}/gzip` }),
    judge: [
      isFetched('page', { truncated: '' }),
      ({ outcomes }) => {
        const outcome = outcomes.get('page')
        const bytes = outcome?.kind === 'fetched' ? (outcome.decodedBytes ?? 0) : 0
        return [bytes < PLAIN.length && `${bytes} bytes came of ${PLAIN.length}`] // a rendered page may be longer than its source
      },
    ],
  },
  {
    name: 'cut-off',
    means: 'says that an answer broke off',
    urls: ({ headers }) => ({ page: `${headers}/cut` }),
    judge: [
      isKind('page', 'fetched', 'failed'),
      ifFetched('page', ({ truncated }) => [truncated === '' && `half of ${CUT_BYTES} bytes counts as a whole page`]),
    ],
  },
  {
    name: 'several',
    means: 'keeps the delay between the pages of a site',
    sites: { site: { robots: { body: 'User-agent: *\nCrawl-delay: 0.4\n' } } },
    urls: ({ site }) => Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`p${n}`, `${site}/page-${n}`])),
    judge: [1, 2, 3, 4, 5].map((n) => isFetched(`p${n}`, { status: 200 })),
  },
  {
    name: 'forbidden',
    means: 'asks for no URL without an order, robots.txt and /favicon.ico included',
    sites: { site: { robots: { body: 'User-agent: *\nDisallow: /no\n' } } },
    urls: ({ site }) => ({ yes: `${site}/yes`, no: `${site}/no` }),
    most: 1,
    judge: [isKind('yes', 'fetched'), isKind('no', 'disallowed')],
  },
  ...INTERRUPTIONS,
]
