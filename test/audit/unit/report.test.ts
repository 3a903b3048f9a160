/** What people and programs get to see. */
import { stripVTControlCharacters } from 'node:util'
import { agentsOf, htmlReport, judgeRecord, OFFENCES, type Report, reportSchema, textReport } from '@decorum/audit'
import { expect, test } from 'vitest'
import { fromJSONSchema } from 'zod'
import { diceOf, randomCase } from '../random-record.ts'
import { Scene } from './scene.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`report: seed ${seed} (SEED=${seed} replays it)`)
const EVIL = '\u001b[31m\u009b1m\u202eevil</title><script>alert(1)</script>'

const controlsIn = (text: string): string[] => text.match(/[\p{Cc}\p{Bidi_Control}]/gu) ?? []

const evilReport = (): Report =>
  new Scene()
    .robots(0, `User-agent: *\nDisallow: /${EVIL}\n`, { agent: EVIL })
    .visit(5_000, `/${EVIL}`, { agent: EVIL })
    .visit(5_010, `/a${EVIL}`, { agent: EVIL })
    .judge({ timelines: 5 })

test('reports of random records keep to the schema, and the schema to them', () => {
  const schema = fromJSONSchema(reportSchema)
  for (let n = 0; n < 100; n++) {
    const { options, record } = randomCase(diceOf(seed + n))
    const report = JSON.parse(JSON.stringify(judgeRecord(record, { ...options, timelines: 3 }))) as Report
    expect(schema.safeParse(report).error?.message, `SEED=${seed + n}`).toBeUndefined()
    expect(schema.safeParse({ ...report, more: 1 }).success).toBe(false)
    expect(schema.safeParse({ ...report, total: 'none' }).success).toBe(false)
  }
})

test('text of strangers does nothing to a terminal', () => {
  const text = textReport(evilReport())
  expect(text).toContain('\\u{1b}[31m')
  // Our own colours and line ends, and nothing else that controls.
  expect(controlsIn(stripVTControlCharacters(text).replaceAll('\n', ''))).toEqual([])
})

test('text of strangers stays text in HTML; the page loads and runs nothing', () => {
  const page = htmlReport(evilReport())
  expect(page).not.toContain('<script')
  expect(page).toContain('&lt;script&gt;')
  expect(controlsIn(page.replaceAll('\n', ''))).toEqual([])
  expect(page).not.toMatch(/(?:src|href)=|url\(|@import/)
  expect(page).toContain("default-src 'none'")
})

test('a report for the owner of a site: who, how politely, the worst moments with both lines, the rules with their numbers', () => {
  const report = new Scene()
    .robots(0, 'User-agent: *\nDisallow: /private\n')
    .visit(2_000, '/a', { ms: 500 })
    .visit(2_100, '/b')
    .visit(5_000, '/private')
    .judge()
  const text = textReport(report)
  expect(report.worst.map(({ offence }) => offence)).toEqual(['overlap', 'disallowed'])
  expect(report.worst[0]).toMatchObject({ line: { line: 3 }, after: { line: 2 } })
  expect(text).toMatch(/who visited +manners/)
  expect(text).toContain('The worst 2 moments')
  expect(text).toMatch(/ 2 {2}Disallow: \/private {2}← 1 request against it/)
  expect(text).toContain(OFFENCES.overlap.means)
  // One word for one thing, as the glossary has it.
  expect(text).not.toMatch(/\b(?:silence|gap|visitor|floor|cap|clock|party)s?\b/i)
  expect(htmlReport(report)).not.toMatch(/\b(?:silence|visitor|floor|party)s?\b/i)
})

test('an owner reads no word of the fleet, and a slack that is below zero never as zero', () => {
  const report = new Scene().robots(0, '').visit(1_005, '/a').visit(2_009.97, '/b').judge()
  expect(report.violations['short-delay']).toBe(1)
  const text = textReport(report, { lanes: 1 })
  const page = htmlReport(report)
  expect(text).toMatch(/smallest slack +< 0 ms/)
  expect(page).toContain('>&lt; 0<')
  expect(text + page).not.toMatch(/-0\.0|\blanes?\b/i)
})

test('each moment is printed once: the worst with their lines, then the first of the others', () => {
  const report = new Scene().robots(0, '').pages(1_005, 9, 10).judge()
  const text = textReport(report)
  expect(report.total).toBeGreaterThan(report.worst.length)
  expect(text).toContain('The others\n')
  expect(text.match(/^(?:\d\. )?\d{4}-.* UTC {2}[a-z-]+ {2}http/gm)).toHaveLength(report.total)
  const many = textReport(new Scene().robots(0, '').pages(1_005, 30, 10).judge())
  expect(many).toMatch(/^The first 10 of \d+ others$/m)
  const few = new Scene().robots(0, '').pages(1_005, 2, 10).judge()
  expect(few.total).toBeLessThanOrEqual(few.worst.length)
  expect(textReport(few)).not.toMatch(/^The (?:first|others)/m)
})

test('the worst moments are five at most, and not five of one kind', () => {
  const scene = new Scene()
    .robots(0, 'User-agent: *\nDisallow: /private\n')
    .pages(1_005, 50, 10)
    .visit(90_000_000, '/private')
  const { worst } = scene.judge()
  expect(worst).toHaveLength(5)
  expect(new Set(worst.map(({ offence }) => offence)).size).toBeGreaterThan(2)
})

test('a User-Agent names its product token in many ways', () => {
  const tokens = (userAgent: string): string[] =>
    agentsOf({ profile: 'decorum', minDelayMs: 0, maxDelayMs: 0 })(userAgent)?.tokens ?? []
  expect(
    [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/124.0.0.0 Safari/537.36',
      'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
      'Mozilla/5.0 (compatible;PetalBot;+https://webmaster.petalsearch.com/site/petalbot)',
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot',
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)',
      'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
      '',
    ].map((userAgent) => tokens(userAgent)[0]),
  ).toEqual(['googlebot', 'bingbot', 'petalbot', 'chatgpt-user', 'applebot', 'mozilla', 'facebookexternalhit', ''])
})
