/** Agents under older names of their members: read with a warning; misspelt members are refused with the nearest name. */
import { loadAgents } from '@decorum/config'
import { expect, test } from 'vitest'

const bot = { name: 'bot', userAgent: 'bot/1.0 (+https://bot.example/)' }
function load(agent: object) {
  const warnings: string[] = []
  const agents = loadAgents(
    { agents: JSON.stringify([bot, { ...bot, name: 'other', ...agent }]), defaultDelayMs: 1_000, maxDelayMs: 10_000 },
    (line) => warnings.push(line),
  )
  return { agent: agents.list[1], warnings }
}

test('minGapMs, maxGapMs and adaptiveGap are read under their new names, with one line for all', () => {
  const { agent, warnings } = load({ minGapMs: 2_000, maxGapMs: 20_000, adaptiveGap: { factor: 2 } })
  expect(agent).toMatchObject({ minDelayMs: 2_000, maxDelayMs: 20_000, adaptiveDelay: { factor: 2, capMs: 20_000 } })
  expect(warnings).toEqual([
    'DECORUM_AGENTS: minGapMs is now called minDelayMs, maxGapMs is now called maxDelayMs, ' +
      'adaptiveGap is now called adaptiveDelay; the older names are still read',
  ])
  expect(load({}).warnings).toEqual([])
})

test('an older and a new name that differ are refused; an older name is checked like the new one', () => {
  expect(load({ minGapMs: 2_000, minDelayMs: 2_000 }).agent).toMatchObject({ minDelayMs: 2_000 })
  expect(() => load({ minGapMs: 2_000, minDelayMs: 3_000 })).toThrow(
    'DECORUM_AGENTS[1].minGapMs: is the older name of minDelayMs, and the two differ: leave it out',
  )
  expect(() => load({ minGapMs: -1 })).toThrow(/DECORUM_AGENTS\[1\].minDelayMs/)
})

test('a misspelt member is refused with the nearest name', () => {
  expect(() => load({ minDelayMS: 5 })).toThrow(
    'DECORUM_AGENTS[1].minDelayMS: there is no such member; did you mean minDelayMs?',
  )
  expect(() => load({ honorCrawlDelay: true })).toThrow(/did you mean honourCrawlDelay\?/)
  expect(() => load({ adaptiveDelay: { facotr: 5 } })).toThrow(/did you mean factor\?/)
})
