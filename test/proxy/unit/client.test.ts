/** Whose request it is, by its credentials. */
import { agentsOf } from '@decorum/config'
import { clients } from '@decorum/proxy/testing'
import { expect, test } from 'vitest'

const agents = agentsOf({
  DECORUM_AGENTS: JSON.stringify([
    { name: 'shopbot', userAgent: 'shopbot/1 (+https://shop.example/bot)' },
    { name: 'newsbot', userAgent: 'newsbot/1 (+https://news.example/bot)' },
  ]),
  DEFAULT_DELAY_MS: 1_000,
  MAX_DELAY_MS: 10_000,
})
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
const TOKEN = 'a-token-of-shop-0001'
const tokens = [{ name: 'shop', token: TOKEN, agents: ['shopbot'], crawls: ['spring'] }]

test('without tokens anybody on this machine is any agent, and the first one by default', () => {
  const clientOf = clients(agents, undefined)
  expect(clientOf(undefined)).toMatchObject({ agent: { key: 'shopbot' }, token: { name: '' } })
  expect(clientOf(basic('newsbot:x'))).toMatchObject({ agent: { key: 'newsbot' } })
  expect(clientOf(basic('newsbot+summer:'))).toMatchObject({ agent: { key: 'newsbot' }, crawl: 'summer' })
  expect(() => clientOf(basic('nobody:'))).toThrow('agents are: shopbot, newsbot')
  expect(() => clientOf('Bearer x')).toThrow('http://AGENT:TOKEN@')
  expect(() => clientOf(basic('newsbot+No Crawl:'))).toThrow('AGENT+CRAWL')
})

test('with tokens only their holders are served, as the agents and crawls that they are for', () => {
  const clientOf = clients(agents, tokens)
  expect(clientOf(basic(`shopbot+spring:${TOKEN}`))).toMatchObject({ crawl: 'spring', token: { name: 'shop' } })
  expect(clientOf(basic(`+spring:${TOKEN}`))).toMatchObject({ agent: { key: 'shopbot' } })
  for (const [given, why] of [
    [undefined, 'credentials'],
    [basic('shopbot+spring:another-token-0000001'), 'DECORUM_PERMIT_TOKENS'],
    [basic(`newsbot+spring:${TOKEN}`), 'not for the agent'],
    [basic(`shopbot:${TOKEN}`), 'for the crawls spring'],
    ['Basic ###', 'credentials'],
  ] as const)
    expect(() => clientOf(given)).toThrow(why)
})
