/** The tokens of the roles that grant turns, as their settings have them. */
import { loadAgents } from '@decorum/config'
import { permitTokens } from '@decorum/sending/granting'
import { expect, test } from 'vitest'

const agents = loadAgents({
  agents: '[{"name":"bot","userAgent":"bot/1.0 (+https://bot.example/)"}]',
  defaultDelayMs: 1_000,
  maxDelayMs: 10_000,
})
const tokens = (HOST: string, of?: string) =>
  permitTokens(
    {
      HOST,
      ...(of !== undefined && {
        DECORUM_PERMIT_TOKENS: JSON.stringify([{ name: 'team', token: '0123456789abcdef', agents: [of] }]),
      }),
    },
    agents,
    'it listens beyond loopback',
  )

test('a token is for agents that there are', () => {
  expect(tokens('127.0.0.1', 'bot')).toMatchObject([{ name: 'team', agents: ['bot'] }])
  expect(() => tokens('127.0.0.1', 'nobody')).toThrow('DECORUM_PERMIT_TOKENS: team: there is no agent nobody')
})

test('beyond loopback there are tokens', () => {
  expect(tokens('127.0.0.1')).toBeUndefined()
  expect(() => tokens('0.0.0.0')).toThrow(
    'DECORUM_PERMIT_TOKENS: is needed when it listens beyond loopback (HOST=0.0.0.0)',
  )
})
