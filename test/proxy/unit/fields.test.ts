/** Which header fields cross the proxy, and which User-Agent goes out. */
import { agentsOf } from '@decorum/config'
import { fieldsOf, isLoop, toClient, toSite } from '@decorum/proxy/testing'
import { expect, test } from 'vitest'

const agent = agentsOf({
  DECORUM_AGENTS: JSON.stringify([{ name: 'shopbot', userAgent: 'shopbot/1 (+https://shop.example/bot)' }]),
  DEFAULT_DELAY_MS: 1_000,
  MAX_DELAY_MS: 10_000,
}).default
const site = (raw: string[], rule: 'override' | 'keep' | 'refuse' = 'override', length?: string): string[] =>
  toSite(fieldsOf(raw), { agent, rule, length, name: 'decorum-1' })

test('a field that Connection names stays on its connection, in whatever case and line', () => {
  const out = site(['Connection', 'close, x-A', 'X-a', '1', 'connection', '"X-B" , X-C', 'x-c', '2', 'X-D', '3'])
  expect(out).toEqual(['user-agent', agent.userAgent, 'X-D', '3', 'via', '1.1 decorum-1'])
})

test('the length of a body is said once, by who sends it, and Host is that of the URL', () => {
  const raw = ['Host', 'other.example', 'Content-Length', '3', 'Transfer-Encoding', 'chunked', 'Expect', '100-continue']
  expect(site(raw, 'override', '3')).toEqual([
    ...['user-agent', agent.userAgent, 'content-length', '3', 'via', '1.1 decorum-1'],
  ])
})

test('PROXY_USER_AGENT=keep: a User-Agent goes out when it names the token whose rules are obeyed, and a contact', () => {
  const own = 'Mozilla/5.0 (compatible; ShopBot/2; ops@shop.example)'
  expect(site(['User-Agent', own], 'keep').slice(0, 2)).toEqual(['user-agent', own])
  expect(() => site(['User-Agent', 'shopbot/2'], 'keep')).toThrow('contact')
  expect(() => site(['User-Agent', 'curl/8 (+https://shop.example/bot)'], 'keep')).toThrow('shopbot')
  expect(() => site([], 'keep')).toThrow('shopbot')
})

test('PROXY_USER_AGENT=refuse: only that of the agent goes out', () => {
  expect(site(['User-Agent', agent.userAgent], 'refuse')[1]).toBe(agent.userAgent)
  expect(() => site(['User-Agent', 'curl/8'], 'refuse')).toThrow(agent.userAgent)
})

test('an answer is framed anew: a length that is in doubt, or stands beside chunks, is not passed on', () => {
  const length = (raw: string[]): string | undefined => {
    const out = toClient(fieldsOf(raw), 'decorum-1')
    const at = out.indexOf('content-length')
    return at < 0 ? undefined : out[at + 1]
  }
  expect(length(['Content-Length', '12'])).toBe('12')
  expect(length(['Content-Length', '12, 12'])).toBe('12')
  expect(length(['Content-Length', '12', 'content-length', '13'])).toBeUndefined()
  expect(length(['Content-Length', '12', 'Transfer-Encoding', 'chunked'])).toBeUndefined()
  expect(length(['Content-Length', '-1'])).toBeUndefined()
})

test('a field whose octets could end a line is left out', () => {
  expect(
    toClient(
      [
        ['X-A', 'a\r\nSet-Cookie: b'],
        ['X B', 'c'],
        ['X-D', 'd\u00e4'],
      ],
      'p',
    ),
  ).toEqual([...['X-D', 'd\u00e4', 'via', '1.1 p']])
})

test('a loop is noticed by Via, also behind other proxies', () => {
  expect(isLoop('1.0 fred, 1.1 decorum-1', 'decorum-1')).toBe(true)
  expect(isLoop('1.1 decorum-2', 'decorum-1')).toBe(false)
  expect(isLoop(undefined, 'decorum-1')).toBe(false)
  expect(site(['Via', '1.0 fred', 'via', '1.1 p']).at(-1)).toBe('1.0 fred, 1.1 p, 1.1 decorum-1')
})
