/** What the robots says of lost rules, and of a robots.txt that somebody wants as a page. */

import { loadAgents } from '@decorum/config'
import { robotsJudge } from '@decorum/politeness/admission'
import { policies, type RobotsState, step, unknownOrigin } from '@decorum/robots'
import { expect, test } from 'vitest'

const NOW = 1_800_000_000_000
const HOUR = 3_600_000
const ORIGIN = 'http://site.example'
const agents = loadAgents({
  agents: JSON.stringify(
    ['decorum', 'rfc9309', 'google', 'coccoc'].map((profile) => ({
      name: profile.replace(/\d/g, ''),
      userAgent: 'a (+https://a.example)',
      profile,
    })),
  ),
  defaultDelayMs: 1_000,
  maxDelayMs: 10_000,
})
/** No body can be read. */
const robots = robotsJudge({ partitionOf: () => 0, body: async () => undefined, now: () => NOW }, undefined)
const [polite] = agents.list
if (polite === undefined) throw new Error('an agent')

async function verdict(state: RobotsState, path = '/a', agent = polite as (typeof agents.list)[number]) {
  const rules = await robots.rules(agent, ORIGIN, state, NOW)
  return robots.judge(agent, ORIGIN, path, state, rules, NOW)
}
const served = (at: number, before: RobotsState = unknownOrigin) =>
  step(before, { kind: 'answered', status: 200, hash: 'h', jitter: 0 }, at)
const failed = (at: number, before: RobotsState) =>
  step(before, { kind: 'unanswered', reason: 'timeout', jitter: 0 }, at)

test('rules that are in force and lost are asked for at once, by one', async () => {
  const state = served(NOW - HOUR)
  for (const agent of agents.list) expect(await verdict(state, '/a', agent)).toEqual({ kind: 'ask' })
  const question = { fence: 1, until: NOW + 5 }
  expect(await verdict({ ...state, question })).toEqual({ kind: 'wait', until: NOW + 5, why: 'robots-in-flight' })
  expect(await verdict({ ...state, question: { fence: 1, until: NOW } })).toEqual({ kind: 'ask' })
})

test('after a failure they are asked for when the retry is due, and no page is requested meanwhile', async () => {
  const since = NOW - 13 * HOUR // the old copy would be in force by now
  const outage = (agoMs: number) => failed(NOW - agoMs, failed(since, served(since - HOUR)))
  for (const agent of agents.list) {
    const { firstRetryMs } = policies[agent.profile]
    expect(await verdict(outage(1_000), '/a', agent)).toMatchObject({ kind: 'wait', why: 'unreachable' })
    expect(await verdict(outage(4 * firstRetryMs), '/a', agent)).toEqual({ kind: 'ask' })
  }
})

test.each(['/robots.txt', '/Robots.TXT?v=2', '/%72obots.txt'])(
  'while a robots fetch is in flight, the page %s waits for its end',
  async (path) => {
    const state = { ...step(unknownOrigin, { kind: 'answered', status: 404, jitter: 0 }, NOW - HOUR) }
    const asked = { ...state, question: { fence: 1, until: NOW + 5 } }
    expect(await verdict(asked, path)).toEqual({ kind: 'wait', until: NOW + 5, why: 'robots-in-flight' })
    expect(await verdict(state, path)).toMatchObject({ kind: 'allowed' })
    expect(await verdict(asked, `/a${path}`)).toMatchObject({ kind: 'allowed' })
  },
)
