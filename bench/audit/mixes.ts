/** Logs of any length, each of one kind that could make an auditor slow: written as they would lie on a disk. */

import { once } from 'node:events'
import { createWriteStream } from 'node:fs'

const EPOCH = 1_790_000_000_000
const AGENT = 'Mozilla/5.0 (compatible; benchbot/1.0; +https://example.com/bot)'

type Line = {
  origin?: string
  agent?: string
  path: string
  status?: number
  ms?: number
  location?: string
  retryAfter?: string
  robots?: string
}

/** Line n of so many, and how long after the one before it comes, ms. */
type Mix = { name: string; line: (n: number) => Line; everyMs: number; nginx?: boolean }

const page = (n: number): Line => ({
  origin: `http://site-${n % 5_000}.test`,
  path: n < 5_000 ? '/robots.txt' : `/page-${n}`,
  ...(n < 5_000 ? { robots: 'h' } : {}),
})

export const MIXES: readonly Mix[] = [
  { name: 'pages of 5,000 origins, all rules kept', line: page, everyMs: 1 },
  { name: 'the same as nginx writes it', line: page, everyMs: 1, nginx: true },
  {
    name: 'pages of one lane, half of them too early',
    line: (n) => ({ path: n === 0 ? '/robots.txt' : `/${n}`, robots: 'h' }),
    everyMs: 500,
  },
  { name: 'robots.txt, 304 each time', line: () => ({ path: '/robots.txt', status: 304 }), everyMs: 2_000 },
  { name: 'robots.txt, 500 each time', line: () => ({ path: '/robots.txt', status: 500 }), everyMs: 2_000 },
  {
    name: 'robots.txt 304 and a page in turn',
    line: (n) => (n % 2 === 0 ? { path: '/robots.txt', status: n === 0 ? 200 : 304, robots: 'h' } : { path: `/${n}` }),
    everyMs: 1_000,
  },
  {
    name: 'robots.txt redirected, nobody follows',
    line: (n) => ({ path: '/robots.txt', status: 301, location: `http://other.test/${n % 100}.txt` }),
    everyMs: 1,
  },
  {
    name: 'robots.txt redirected to one host, followed there',
    line: (n) =>
      n % 2 === 0
        ? { origin: `http://a-${n}.test`, path: '/robots.txt', status: 301, location: 'http://b.test/rules.txt' }
        : { origin: 'http://b.test', path: '/rules.txt', robots: 'h' },
    everyMs: 1,
  },
  {
    name: '429 with Retry-After, each time',
    line: (n) => ({
      path: n === 0 ? '/robots.txt' : `/${n}`,
      ...(n === 0 ? { robots: 'h' } : { status: 429, retryAfter: '3600' }),
    }),
    everyMs: 1,
  },
  { name: 'all open at once', line: (n) => ({ path: n === 0 ? '/robots.txt' : `/${n}`, ms: 1e9 }), everyMs: 1 },
  {
    name: 'a User-Agent of its own each',
    line: (n) => ({ agent: `bot-${n}/1`, path: '/robots.txt', robots: 'h' }),
    everyMs: 1,
  },
]

/** Writes so many lines of a mix to a file. */
export async function writeMix({ line, everyMs, nginx }: Mix, lines: number, file: string): Promise<void> {
  const stream = createWriteStream(file)
  let text = `${JSON.stringify({ kind: 'robots', hash: 'h', body: 'User-agent: *\nDisallow: /never\nCrawl-delay: 1\n' })}\n`
  for (let n = 0; n < lines; n++) {
    const {
      origin = 'http://a.test',
      agent = AGENT,
      path,
      status = 200,
      ms = 0,
      location,
      retryAfter,
      robots,
    } = line(n)
    const start = EPOCH + n * everyMs
    if (nginx)
      text += `192.0.2.1 - - [22/Sep/2026:00:00:00 +0000] "GET ${path} HTTP/1.1" ${status} 512 "-" "${agent}" ${((start + ms) / 1_000).toFixed(3)} ${(ms / 1_000).toFixed(3)} ${origin} "${retryAfter ?? '-'}" "${location ?? '-'}"\n`
    else
      text += `${JSON.stringify({ kind: 'request', origin, agent, method: 'GET', path, start, end: start + ms, status, location, retryAfter, robots })}\n`
    if (text.length < 1_000_000) continue
    if (!stream.write(text)) await once(stream, 'drain')
    text = ''
  }
  stream.end(text)
  await once(stream, 'finish')
}
