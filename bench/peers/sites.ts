/** The sites that peers visit: ten hosts, whose kinds, answer times and bad moments are arranged by a seed, and a list of their pages. */
import type { Answer, Site } from '@decorum/cli/synthetic-web'
import { random } from '../robots/files.ts'

/** What is owed between an answer and the next request, ms, where robots.txt asks for no more. */
export const DELAY_MS = 200
const CRAWL_DELAY_MS = 500
const RETRY_AFTER_MS = 2_000
const PAGES = 8
/** One site in a short run has as many. */
const FEW_PAGES = 3

export const ADDRESS = '127.40.0.1'
const COUNT = 10
/** A name of its own for each site, so that a delay of each registrable domain is one of each site. */
export const HOSTS = Array.from({ length: COUNT }, (_, n) => `s${n}.test`)

type Kind = {
  robots?: string
  crawlDelayMs?: number
  refuses?: number
  slowMs?: number
  forbidden?: string
  redirects?: true
}
const KINDS: Kind[] = [
  { robots: '' },
  { robots: 'User-agent: *\nAllow: /\n', redirects: true },
  {},
  { robots: 'User-agent: *\nDisallow: /private\n', forbidden: '/private/' },
  { robots: 'User-agent: *\nDisallow: /*.cgi\nDisallow: /search\n', forbidden: '/search/' },
  { robots: `User-agent: *\nCrawl-delay: ${CRAWL_DELAY_MS / 1_000}\n`, crawlDelayMs: CRAWL_DELAY_MS },
  { robots: '', refuses: 429 },
  { robots: '', refuses: 503 },
  { robots: '', slowMs: 200 },
  { robots: '# all is allowed\n' },
]

export type Arrangement = {
  sites: Site[]
  /** host and path of each page, in the order in which they are to be asked for */
  pages: { host: string; path: string; isAllowed: boolean }[]
  /** ms owed after an answer */
  owedMs(host: string, status: number): number
}

export function arrange(seed: number, short: boolean): Arrangement {
  const chance = random(seed)
  const whole = (below: number): number => Math.floor(chance() * below)
  const shuffled = <T>(list: T[]): T[] => {
    const rest = [...list]
    return list.map(() => rest.splice(whole(rest.length), 1)[0] as T)
  }
  const count = short ? FEW_PAGES : PAGES
  const kinds = short ? KINDS.slice(3, 7) : shuffled(KINDS)
  const pages: Arrangement['pages'] = []
  const sites = kinds.map((kind, n): Site => {
    const host = HOSTS[n] as string
    const answers: Answer[] = Array.from({ length: 64 }, () => ({ delayMs: 20 + whole(100) + (kind.slowMs ?? 0) }))
    if (kind.refuses !== undefined)
      answers[1 + whole(count - 2)] = { delayMs: 20, status: kind.refuses, retryAfter: String(RETRY_AFTER_MS / 1_000) }
    for (let page = 0; page < count; page++) pages.push({ host, path: `/${page}`, isAllowed: true })
    if (kind.forbidden !== undefined)
      for (let page = 0; page < 2; page++) pages.push({ host, path: `${kind.forbidden}${page}`, isAllowed: false })
    const to = kinds[(n + 1) % kinds.length]
    return {
      name: host.replace('.test', ''),
      ...(kind.robots !== undefined && { robots: { body: kind.robots, delayMs: 20 + whole(60) } }),
      pages: { cycle: answers },
      // To a page of another site that nobody else asks for
      ...(kind.redirects &&
        to !== undefined && {
          paths: { '/1': { status: 302, delayMs: 30, location: `{origin:s${(n + 1) % kinds.length}}/from-elsewhere` } },
        }),
    }
  })
  return {
    sites,
    pages: shuffled(pages),
    owedMs(host, status) {
      if (status === 429 || status === 503) return RETRY_AFTER_MS
      return kinds[HOSTS.indexOf(host)]?.crawlDelayMs ?? DELAY_MS
    },
  }
}
