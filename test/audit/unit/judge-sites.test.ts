/** Policies of sites in an audit: told of them, it judges by them; without them, what a site has consented to is a violation. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readPoliciesFile } from '@decorum/cli/testing'
import { loadPaceGroups, type PolicyVersion, policyHistory } from '@decorum/politeness'
import { expect, onTestFinished, test } from 'vitest'
import { found, Scene } from './scene.ts'

/** 14:13:20 UTC */
const EPOCH = 1_790_000_000_000
const MINUTE = 60_000
const version = (at: number, policy: object): PolicyVersion => ({
  at: EPOCH + at,
  policies: Object.keys(policy).length === 0 ? {} : { 'site.test': policy },
})
const judge = (scene: Scene, versions: PolicyVersion[], more: object = {}) =>
  found(scene.judge({ sitePolicies: policyHistory(versions), ...more }))
/** Pages that take 5 ms, so much apart from the end of one to the start of the next. */
const paced = (delayMs: number, at = 0, count = 4) => new Scene().robots(at - 50_000, '').pages(at, count, delayMs + 5)
const LONG_AGO = -1_000_000

test('a shorter delay is polite with the consent of the site, and only for those who are told of it', () => {
  const consent = [version(LONG_AGO, { delayMs: 100, consent: 'ann' })]
  expect(found(paced(100).judge())).toEqual({ 'short-delay': 3 })
  expect(judge(paced(100), consent)).toEqual({})
  expect(judge(paced(99), consent)).toEqual({ 'short-delay': 3 })
  expect(judge(paced(100), [version(LONG_AGO, { delayMs: 100 })])).toEqual({ 'short-delay': 3 })
})

test('consent covers the delay that schemes and ports of a host share', () => {
  const scene = paced(100).visit(420, '/robots.txt', { origin: 'https://site.test', status: 404 })
  const paceGroups = loadPaceGroups('{}')
  expect(judge(scene, [version(LONG_AGO, { delayMs: 100, consent: 'ann' })], { paceGroups })).toEqual({})
  expect(judge(scene, [], { paceGroups })).toMatchObject({ 'pace-group': expect.any(Number) })
})

test('a longer delay is owed, and more than one request at a time never allowed', () => {
  expect(judge(paced(4_999), [version(LONG_AGO, { delayMs: 5_000 })])).toEqual({ 'short-delay': 3 })
  expect(judge(paced(5_000), [version(LONG_AGO, { delayMs: 5_000 })])).toEqual({})
  const atOnce = new Scene().robots(-50_000, '').visit(0, '/a', { ms: 500 }).visit(100, '/b')
  expect(judge(atOnce, [version(LONG_AGO, { delayMs: 0, consent: 'ann' })])).toEqual({ overlap: 1 })
})

test('a longer delay is owed two seconds after it was applied, a shorter one not before the delay that ran is over', () => {
  const longer = [version(LONG_AGO, {}), version(0, { delayMs: 5_000 })]
  expect(judge(paced(1_000, -3_000, 3), longer)).toEqual({}) // -3,000, -1,995, -990
  expect(judge(paced(1_000, 500, 2), longer)).toEqual({}) // 500, 1,505: on its way
  expect(judge(paced(1_500, 500, 2), longer)).toEqual({ 'short-delay': 1 }) // 500, 2,005
  const shorter = [version(LONG_AGO, { delayMs: 60_000 }), version(0, { delayMs: 0, consent: 'ann' })]
  expect(judge(new Scene().robots(-50_000, '').visit(-5_000, '/a').visit(4_000, '/b'), shorter)).toMatchObject({
    'short-delay': 2,
  })
})

test('visiting hours: a second at their end, and none before their beginning', () => {
  const hours = [version(-2 * MINUTE - 1_000_000, { hours: '14:00-14:13' })] // until 20 s before the epoch
  expect(judge(new Scene().visit(-20_001, '/robots.txt', { status: 404 }), hours)).toEqual({})
  expect(judge(new Scene().visit(-19_001, '/robots.txt', { status: 404 }), hours)).toEqual({})
  expect(judge(new Scene().visit(-19_000, '/robots.txt', { status: 404 }), hours)).toEqual({ 'outside-hours': 1 })
  const begins = [version(LONG_AGO, { hours: '14:14-02:00' })] // 40 s after the epoch
  expect(judge(new Scene().visit(39_999, '/robots.txt', { status: 404 }), begins)).toEqual({ 'outside-hours': 1 })
  expect(judge(new Scene().visit(40_000, '/robots.txt', { status: 404 }), begins)).toEqual({})
})

test('a budget is for a host and a day, all that is requested counts', () => {
  const budget = [version(LONG_AGO, { requestsPerDay: 4 })]
  expect(judge(paced(1_000, 0, 3), budget)).toEqual({}) // with its robots.txt four
  expect(judge(paced(1_000, 0, 4), budget)).toEqual({ 'over-budget': 1 })
  expect(judge(paced(1_000, 0, 3).visit(60_000, '/p', { origin: 'https://site.test' }), budget)).toMatchObject({
    'over-budget': 1,
  })
  expect(judge(paced(1_000, 0, 3).visit(40_000_000, '/tomorrow'), budget)).toEqual({})
})

test.each([
  ['no JSON', '{', /JSON/],
  ['a list', '[]', /an object with 'versions' is needed/],
  ['no instant', '{"versions":[{"policies":{}}]}', /version 1: the instant 'at' and 'policies' are needed/],
  ['a wrong policy', '{"versions":[{"at":1,"policies":{"a.test":{}}}]}', /a.test: delayMs, hours or requestsPerDay/],
])('a file of policies with %s is refused in one sentence', async (_, text, why) => {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-policies-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'policies.json')
  await writeFile(file, text)
  await expect(readPoliciesFile(file)).rejects.toThrow(why)
  const versions = [{ version: 3, at: EPOCH, by: 'ann', reason: '', policies: { 'a.test': { delayMs: 5_000 } } }]
  await writeFile(file, JSON.stringify({ versions }))
  expect(await readPoliciesFile(file)).toEqual([{ at: EPOCH, policies: { 'a.test': { delayMs: 5_000 } } }])
})
