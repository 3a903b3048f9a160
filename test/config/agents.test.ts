/** Crawler identities: what an agents file may say, and what stops the start. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAgents } from '@decorum/config'
import { expect, onTestFinished, test } from 'vitest'

const settings = { defaultDelayMs: 1_000, maxDelayMs: 10_000 }
const bot = { name: 'My-Bot', userAgent: 'my-bot/1.0 (+https://example.com/bot)' }
const load = (...entries: object[]) => loadAgents({ ...settings, agents: JSON.stringify(entries) })

test('the first agent is the default; names are found without regard to case', () => {
  const agents = load(bot, { ...bot, name: 'other', fallbacks: ['base'], profile: 'google' })
  expect(agents.default.name).toBe('My-Bot')
  expect(agents.find(undefined)?.name).toBe('My-Bot')
  expect(agents.find('MY-BOT')).toBe(agents.default)
  expect(agents.find('nobody')).toBeUndefined()
  expect(agents.find('other')).toEqual({
    name: 'other',
    key: 'other',
    fallbacks: ['base'],
    userAgent: bot.userAgent,
    profile: 'google',
    minDelayMs: 1_000,
    maxDelayMs: 10_000,
    honourCrawlDelay: false,
    honourVisitTime: false,
    honourNoarchive: false,
    http2: true,
    hasContact: true,
  })
})

test('google profiles keep crawl-delay only when asked to; all others do', () => {
  for (const profile of ['google', 'google-2022'])
    expect(load({ ...bot, profile }).default.honourCrawlDelay).toBe(false)
  for (const profile of ['decorum', 'rfc9309', 'coccoc'])
    expect(load({ ...bot, profile }).default.honourCrawlDelay).toBe(true)
  expect(load({ ...bot, profile: 'google', honourCrawlDelay: true }).default.honourCrawlDelay).toBe(true)
})

test('floor and cap of the delay: own, or the common ones; a floor above the common cap lifts it', () => {
  expect(load({ ...bot, minDelayMs: 0, maxDelayMs: 0 }).default).toMatchObject({ minDelayMs: 0, maxDelayMs: 0 })
  expect(load({ ...bot, minDelayMs: 20_000 }).default).toMatchObject({ minDelayMs: 20_000, maxDelayMs: 20_000 })
  expect(() => load({ ...bot, minDelayMs: 5, maxDelayMs: 4 })).toThrow(/minDelayMs must not exceed maxDelayMs/)
  expect(() => load({ ...bot, maxDelayMs: 500 })).toThrow(/minimum delay \(1000 ms\) is above the maximum \(500 ms\)/)
})

test('the adaptive delay is off unless asked for; its floor and cap are the agent’s own or none and the delay’s', () => {
  expect(load(bot).default).not.toHaveProperty('adaptiveDelay')
  const whole = { factor: 2.5, floorMs: 100, capMs: 60_000 }
  expect(load({ ...bot, adaptiveDelay: whole }).default.adaptiveDelay).toEqual(whole)
  expect(load({ ...bot, maxDelayMs: 7_000, adaptiveDelay: { factor: 5 } }).default.adaptiveDelay).toEqual({
    factor: 5,
    floorMs: 0,
    capMs: 7_000,
  })
  expect(() => load({ ...bot, adaptiveDelay: { factor: 5, floorMs: 2_000, capMs: 1_000 } })).toThrow(
    /My-Bot: the minimum of the adaptive delay \(2000 ms\) is above its maximum \(1000 ms\)/,
  )
})

test('a User-Agent without a contact is refused; a URL or an e-mail address is one', () => {
  expect(() => load({ ...bot, userAgent: 'my-bot/1.0' })).toThrow(/names a contact/)
  for (const contact of ['http://example.com', '+https://example.com/bot', 'bot@example.com'])
    expect(load({ ...bot, userAgent: `my-bot/1.0 (${contact})` }).default.hasContact).toBe(true)
})

test.each([
  ['a name with a digit', { ...bot, name: 'bot2' }, /product token/],
  ['a name with a blank', { ...bot, name: 'my bot' }, /product token/],
  ['a header of other octets', { ...bot, userAgent: 'böt https://example.com' }, /printable ASCII/],
  ['a header with a line break', { ...bot, userAgent: 'bot https://example.com\r\nX: y' }, /printable ASCII/],
  ['another profile', { ...bot, profile: 'bing' }, /profile/],
  ['a misspelt field', { ...bot, mindelayms: 5 }, /mindelayms/],
  ['a negative delay', { ...bot, minDelayMs: -1 }, /minDelayMs/],
  ['an adaptive delay without a factor', { ...bot, adaptiveDelay: { capMs: 5 } }, /adaptiveDelay.factor/],
  ['a factor of nothing', { ...bot, adaptiveDelay: { factor: 0 } }, /adaptiveDelay.factor/],
  ['a factor in words', { ...bot, adaptiveDelay: { factor: 'five' } }, /adaptiveDelay.factor/],
  ['half a millisecond', { ...bot, adaptiveDelay: { factor: 1, floorMs: 0.5 } }, /adaptiveDelay.floorMs/],
  [
    'a misspelt field of the adaptive delay',
    { ...bot, adaptiveDelay: { factor: 5, cap: 5 } },
    /adaptiveDelay\.cap: there is no such member/,
  ],
  ['an adaptive delay that is switched on', { ...bot, adaptiveDelay: true }, /adaptiveDelay/],
])('refused: %s', (_, entry, message) => {
  expect(() => load(entry)).toThrow(message)
})

test('a misspelt member is refused with the nearest name', () => {
  expect(() => load(bot, { ...bot, name: 'other', minDelayMS: 5 })).toThrow(
    'DECORUM_AGENTS[1].minDelayMS: there is no such member; did you mean minDelayMs?',
  )
  expect(() => load({ ...bot, honorCrawlDelay: true })).toThrow(/did you mean honourCrawlDelay\?/)
  expect(() => load({ ...bot, adaptiveDelay: { facotr: 5 } })).toThrow(/did you mean factor\?/)
})

test('two agents of one name, none at all, or no JSON stop the start with a readable message', () => {
  expect(() => load(bot, { ...bot, name: 'MY-bot' })).toThrow(/two agents have the same name/)
  expect(() => load()).toThrow(/DECORUM_AGENTS/)
  expect(() => loadAgents({ ...settings, agents: '[{' })).toThrow(/DECORUM_AGENTS: the inline JSON cannot be read/)
  expect(() => loadAgents({ ...settings, agents: '/nowhere/agents.json' })).toThrow(
    /\/nowhere\/agents.json cannot be read: there is no such file/,
  )
})

test('a file serves as well as inline JSON', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agents-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const path = join(folder, 'agents.json')
  await writeFile(path, JSON.stringify([bot]))
  expect(loadAgents({ ...settings, agents: path }).default.key).toBe('my-bot')
})

test('without agents there is one, decorum, whose contact is the setting', () => {
  expect(loadAgents(settings).default).toMatchObject({
    name: 'decorum',
    profile: 'decorum',
    honourVisitTime: false,
    hasContact: false,
  })
  const known = loadAgents({ ...settings, contact: 'https://example.com/bot' }).default
  expect(known).toMatchObject({
    honourVisitTime: false,
    hasContact: true,
    userAgent: expect.stringContaining('+https://example.com/bot'),
  })
  expect(() => loadAgents({ ...settings, contact: 'me' })).toThrow(/DECORUM_CONTACT/)
  expect(() => loadAgents({ ...settings, contact: 'https://example.com\r\nX: y' })).toThrow(/DECORUM_CONTACT/)
})
