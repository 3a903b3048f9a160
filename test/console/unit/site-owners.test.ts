/** What owners of sites read about the crawlers of this configuration. */
import { loadAgents } from '@decorum/config'
import { siteOwnersPage } from '@decorum/console/inside'
import { parseRobots } from '@decorum/robots'
import { expect, test } from 'vitest'

const AGENTS = [
  { name: 'Bot-Web', fallbacks: ['bot'], userAgent: 'Bot-Web/1.0 (+https://example.com/bot)', maxDelayMs: 30_000 },
  {
    name: 'slow',
    userAgent: 'slow/1.0 (slow@example.com)',
    minDelayMs: 5_000,
    honourVisitTime: true,
    profile: 'coccoc',
  },
  { name: 'deaf', userAgent: 'deaf/1.0 (+https://example.com/bot)', profile: 'google' },
]
const pageOf = (agents: readonly unknown[], contact = ''): string => {
  const { list } = loadAgents({ agents: JSON.stringify(agents), defaultDelayMs: 1_000, maxDelayMs: 10_000 })
  return siteOwnersPage({ agents: list, contact })
}
/** The robots.txt that the page suggests, as a browser copies them. */
const suggested = (page: string): string[] =>
  [...page.matchAll(/<pre><code>([^<]*)<\/code><\/pre>/g)].map(([, text = '']) => text)

test('who answers: the operator first, then whom the User-Agents name, each once', () => {
  const links = [...pageOf(AGENTS, 'ann@example.com').matchAll(/<a href="([^"]*)">/g)].map(([, href]) => href)
  expect(links).toEqual(['mailto:ann@example.com', 'https://example.com/bot', 'mailto:slow@example.com'])
  expect(pageOf(AGENTS, '"><script>')).not.toContain('<script')
})

test('a reader who knows no crawler learns in two sentences what came', () => {
  const [text = ''] = /<main[^]*?<section>/.exec(pageOf(AGENTS)) ?? []
  expect(text).toContain('It came from a crawler, a program that reads web pages for its operator.')
  expect(text).not.toMatch(/gateway|goes through/)
})

test('a contact is listed once, however it is written', () => {
  const agents = [{ name: 'bot', userAgent: 'bot/1.0 (+ann@example.com)' }]
  for (const contact of ['ann@example.com', 'mailto:ann@example.com', '+ann@example.com']) {
    const links = [...pageOf(agents, contact).matchAll(/<a href="([^"]*)">/g)].map(([, href]) => href)
    expect(links, contact).toEqual(['mailto:ann@example.com'])
  }
})

test('each agent says its tokens, its least pause, and whether crawl-delay and Visit-time count', () => {
  const [bot = '', slow = '', deaf = ''] = pageOf(AGENTS).split('<section class="card">').slice(1)
  expect(bot).toMatch(/Bot-Web<\/code>, else <code>bot<\/code>.*at least 1 s.*kept, up to 30 s/s)
  expect(slow).toMatch(/at least 5 s.*Visit-time/s)
  expect(bot).not.toContain('Visit-time')
  expect(deaf).toContain('not read by this crawler')
})

test('the suggested robots.txt stop all agents, and slow those that read a crawl-delay', () => {
  const [stop = '', slower = '', ...more] = suggested(pageOf(AGENTS))
  expect(more).toEqual([])
  for (const { name } of AGENTS) expect(parseRobots(stop).isAllowed('https://site.example/a', name), name).toBe(false)
  expect(AGENTS.map(({ name }) => parseRobots(slower).crawlDelay(name))).toEqual([10, 10, undefined])
})

test('an error of robots.txt is told by the profiles in use', () => {
  const waits = '(5xx), or does not answer, your pages are not requested for 12 hours at least'
  expect(pageOf([AGENTS[0]])).toContain(waits)
  expect(pageOf([AGENTS[0], AGENTS[1]])).not.toContain(waits)
})
