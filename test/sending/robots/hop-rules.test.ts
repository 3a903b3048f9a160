/** Where a redirected robots.txt may lead, fact by fact. */

import { type ProfileName, type RobotsState, step, unknownOrigin } from '@decorum/robots'
import { hopRules } from '@decorum/sending/testing'
import { expect, test } from 'vitest'
import { NOW } from '../../fetcher/support/orders.ts'
import { agentsOf } from '../../fetcher/support/tools.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const X = 'http://asking.example'
const Y = 'http://target.example'
const RULES = 'User-agent: *\nDisallow: /private\n'

const answered = (status: number, at: number, before: RobotsState = unknownOrigin): RobotsState =>
  step(before, { kind: 'answered', status, hash: 'h', jitter: 0 }, at)
const silent = (at: number, before: RobotsState = unknownOrigin): RobotsState =>
  step(before, { kind: 'unanswered', reason: 'timeout', jitter: 0 }, at)

const agentOf = (profile: ProfileName) =>
  agentsOf({ agents: JSON.stringify([{ name: 'one', userAgent: 'one (+https://a.example)', profile }]) }).default

/** Why the hop is not made. */
function refusal(
  state: RobotsState,
  path: string,
  more: { at?: string; profile?: ProfileName; body?: () => Promise<Uint8Array | undefined>; states?: () => never } = {},
): Promise<string | undefined> {
  const ledger = {
    partitionOf: () => 0,
    now: () => NOW,
    body: more.body ?? (async () => Buffer.from(RULES)),
    robotsStates: async () => more.states?.() ?? [{ version: 1, state }],
  }
  return hopRules(ledger, agentOf(more.profile ?? 'decorum'), X, () => NOW)(more.at ?? Y, path)
}

const FORBIDS = /forbids \/private\/x \(line 2 /
const UNREACHABLE = /is unreachable/
// oxfmt-ignore
const cases: [string, RobotsState, string, RegExp | undefined][] = [
  ['of which nothing is known', unknownOrigin, '/private/x', undefined],
  ['whose rules allow it', answered(200, NOW - HOUR), '/elsewhere.txt', undefined],
  ['whose rules forbid it', answered(200, NOW - HOUR), '/private/x', FORBIDS],
  ['whose rules forbade it, and have run out', answered(200, NOW - 2 * DAY), '/private/x', FORBIDS],
  ['that is being asked again', { ...answered(200, NOW - 2 * DAY), question: { fence: 1, until: NOW + 9 } }, '/private/x', FORBIDS],
  ['whose rules allowed it, and have run out', answered(200, NOW - 2 * DAY), '/elsewhere.txt', undefined],
  ['without a robots.txt', answered(404, NOW - HOUR), '/private/x', undefined],
  ['whose rules were taken away', answered(404, NOW - HOUR, answered(200, NOW - 2 * DAY)), '/private/x', undefined],
  ['that answers 503', answered(503, NOW - 1_000), '/elsewhere.txt', UNREACHABLE],
  ['that is silent, and is to be asked again by now', silent(NOW - 2 * HOUR), '/elsewhere.txt', UNREACHABLE],
  ['that is silent, with an old copy in force', silent(NOW - 13 * HOUR, answered(200, NOW - 2 * DAY)), '/private/x', FORBIDS],
  ['its robots.txt, whatever is known', answered(503, NOW - 1_000), '/robots.txt', undefined],
  ['a path that would read as a host', answered(200, NOW - HOUR), '//host/private/x', undefined],
]

test.each(cases)('a hop to an origin %s', async (_, state, path, why) => {
  const answer = await refusal(state, path)
  if (why === undefined) expect(answer).toBeUndefined()
  else expect(answer).toMatch(why)
})

test('each profile reads what is known as it does for pages', async () => {
  const silentNow = silent(NOW - 1_000)
  expect(await refusal(answered(503, NOW - 1_000), '/x', { profile: 'coccoc' })).toBeUndefined()
  expect(await refusal(silent(NOW - DAY), '/x', { profile: 'google' })).toBeUndefined()
  expect(await refusal(silentNow, '/x', { profile: 'google' })).toMatch(UNREACHABLE)
  expect(await refusal(answered(206, NOW - 1_000), '/private/x', { profile: 'google' })).toMatch(FORBIDS)
})

test('rules that cannot be read let nobody in', async () => {
  const known = answered(200, NOW - HOUR)
  expect(await refusal(known, '/elsewhere.txt', { body: async () => undefined })).toMatch(/cannot be read/)
  expect(await refusal(known, '/robots.txt', { body: async () => undefined })).toBeUndefined()
  const away = () => {
    throw new Error('away')
  }
  expect(await refusal(known, '/elsewhere.txt', { body: async () => away() })).toMatch(/could not be asked for/)
  expect(await refusal(known, '/elsewhere.txt', { states: away })).toMatch(/could not be asked for/)
})

test('on its own ground the site that redirects us is obeyed while its rules are in force, and not beyond', async () => {
  const own = { at: X }
  expect(await refusal(answered(200, NOW - HOUR), '/private/x', own)).toMatch(FORBIDS)
  expect(await refusal(answered(200, NOW - 2 * DAY), '/private/x', own)).toBeUndefined()
  expect(await refusal(silent(NOW - 1_000), '/private/x', own)).toBeUndefined() // it has just answered
})
