/** The one search box: a URL, a host, an id, and a sentence for anything else. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
let fleet: FleetForTest
const SITE = 'http://site.example'
const page = (of: string): string => `/origins/${encodeURIComponent(of)}`

beforeAll(async () => {
  fleet = await fleetForTest(redis.url)
  await fleet.store(SITE, ['a', 'b'])
  await fleet.store('https://port.example:8443', ['a'])
})
afterAll(() => fleet.close())

const find = async (what: string) => {
  const answer = await fetch(`${fleet.base}/urls?what=${encodeURIComponent(what)}`, { redirect: 'manual' })
  const notice = /role="status">([^<]*)</
  const text = await answer.text()
  return { status: answer.status, location: answer.headers.get('location'), text, sentence: notice.exec(text)?.[1] }
}

test.each([
  ['an origin', SITE, page(SITE)],
  ['an origin that is not known yet', ' http://BÁO.example:80 ', page(new URL('http://báo.example').origin)],
  ['a host that is known over http', 'site.example', page(SITE)],
  ['a host with its port', 'port.example:8443', page('https://port.example:8443')],
])('%s leads to the page of its origin', async (_, what, to) => {
  expect(await find(what)).toMatchObject({ status: 303, location: to })
})

test.each([
  ['a URL', `${SITE}/b`],
  ['a URL without its scheme', 'site.example/b'],
  ['an id that is next in its lane', `bot-web ${SITE} a`],
])('%s shows where the candidate is', async (_, what) => {
  const { status, text } = await find(what)
  expect(status).toBe(200)
  expect(text).toContain('<h2>pending</h2>')
  expect(text).toContain('Cancel this URL')
})

test.each([
  ['u371', 200, /^&#39;u371&#39; is no host that has come in, and no candidate with this id was found\. Not searched:/],
  ['nowhere.example', 200, /^No URL of &#39;nowhere.example&#39; has come in/],
  ['http://nowhere.example/deep', 200, /^&#39;http:\/\/nowhere.example\/deep&#39; was not found/],
  ['ftp://x/y', 400, /is no URL of http or https/],
  ['http://', 400, /cannot be fetched at all/],
  ['a b/c', 200, /^&#39;a b\/c&#39; is no host that has come in, and no candidate with this id was found/],
  [`a${'b'.repeat(3_000)}`, 400, /too long for an id/],
])('%s is answered with a sentence', async (what, status, sentence) => {
  const answer = await find(what)
  expect(answer.status).toBe(status)
  expect(answer.sentence).toMatch(sentence)
})

test('without a word the page says what the box takes', async () => {
  expect((await find('')).text).toContain('The box above takes a URL, a host, or the id of a candidate')
})

test('a URL that waits is cancelled on the page; one that is not there any more is said to be gone', async () => {
  const fields = { what: `${SITE}/b`, id: `bot-web ${SITE} b`, url: `${SITE}/b`, crawl: 'default' }
  const cancel = () =>
    fetch(`${fleet.base}/urls`, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
  const done = await cancel()
  expect(done.status).toBe(303)
  const shown = await (await fetch(fleet.base + done.headers.get('location'))).text()
  expect(shown).toContain('It was cancelled.')
  expect(shown).toContain('it has ended: refused (cancelled)')
  const again = await cancel()
  expect(again.status).toBe(409)
  expect(await again.text()).toContain('Not done: it was not cancelled: it has ended: refused (cancelled)')
})
