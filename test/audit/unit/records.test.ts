/** Small records that an auditor easily misjudges, each with its right verdict: the polite are not convicted, the rude are. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Report } from '@decorum/audit'
import { type AuditOptions, auditCommand } from '@decorum/cli/testing'
import { expect, test } from 'vitest'
import { found } from './scene.ts'

const FOLDER = join(import.meta.dirname, '../records')
const judged = new Set<string>()

async function judge(name: string, options: AuditOptions = {}): Promise<{ code: number; report: Report }> {
  judged.add(name)
  const said: string[] = []
  const code = await auditCommand([join(FOLDER, name)], { ...options, json: true }, (text) => said.push(text))
  return { code, report: JSON.parse(said.join('')) as Report }
}

test('an exchange that its agent cut may have ended as early as `late` says: no overlap with what came after', async () => {
  const { code, report } = await judge('f1-overlap-late.ndjson')
  expect({ code, found: found(report), smallestSlackMs: report.smallestSlackMs }).toEqual({
    code: 0,
    found: {},
    smallestSlackMs: 500,
  })
})

test('`late` excuses no more than the exchange itself took', async () => {
  const { code, report } = await judge('f2-late-too-long.ndjson')
  expect({ code, found: found(report) }).toEqual({ code: 1, found: { 'short-delay': 1 } })
  expect(report.examples[0]).toMatchObject({ path: '/b', because: '0.002 s after /a; 1 s is required' })
})

test('robots.txt fetched too often is seen without its bodies', async () => {
  const { code, report } = await judge('f3-overfetch-no-bodies.ndjson')
  expect({ code, found: found(report) }).toEqual({ code: 1, found: { 'robots-too-often': 19 } })
})

test('a host in capitals and the default port are the same origin', async () => {
  const { code, report } = await judge('f4-host-case.ndjson')
  expect(report.lanes).toHaveLength(1)
  // The second robots.txt comes a second after the first; /y and /z begin while /x is open.
  expect({ code, found: found(report) }).toEqual({ code: 1, found: { overlap: 2, 'robots-too-often': 1 } })
})

test('Googlebot behind a browser name is judged by its own group, both ways', async () => {
  expect(await judge('f5-googlebot.ndjson')).toMatchObject({ code: 1, report: { violations: { disallowed: 1 } } })
  expect(await judge('f5-googlebot-fp.ndjson')).toMatchObject({ code: 0, report: { total: 0 } })
})

test('a hop of robots.txt at its own origin may not overlap a page of its lane', async () => {
  const { code, report } = await judge('f6-hop-overlap.ndjson')
  expect({ code, found: found(report) }).toEqual({ code: 1, found: { overlap: 1 } })
  expect(report.examples[0]).toMatchObject({ path: '/r2.txt' })
})

test("a robots.txt that is asked for counts for its own origin, whoever's redirect led there", async () => {
  const { code, report } = await judge('f8-hop-steals.ndjson')
  expect({ code, found: found(report), unjudged: report.unjudged }).toEqual({ code: 0, found: {}, unjudged: 0 })
})

test('the lane that fetched new rules has no grace', async () => {
  const { code, report } = await judge('f9-own-grace.ndjson', { delayMs: 100 })
  expect({ code, found: found(report) }).toEqual({ code: 1, found: { disallowed: 2 } })
})

test('a hop of one robots fetch owes its pace group nothing after the hop before', async () => {
  const { code, report } = await judge('f10-hop-pace.ndjson', { paceGroups: '{}' })
  expect({ code, found: found(report), paceGroups: report.paceGroups }).toEqual({ code: 0, found: {}, paceGroups: 1 })
})

test('HEAD and POST of robots.txt bring no rules', async () => {
  const { code, report } = await judge('f11-head.ndjson')
  expect({ code, found: found(report) }).toEqual({ code: 1, found: { 'before-rules': 1 } })
})

test('206 means unreachable under decorum, whatever its body; under rfc9309 its body is missed', async () => {
  const { code, report } = await judge('f12-206.ndjson')
  expect({ code, found: found(report) }).toEqual({ code: 1, found: { 'rules-unreachable': 1 } })
  expect(await judge('f12-206.ndjson', { profile: 'rfc9309' })).toMatchObject({ code: 4, report: { unjudged: 1 } })
})

test('an origin without a host is no origin: nothing is left to judge, and the line is named', async () => {
  await expect(judge('f13-no-host.ndjson', { robots: join(FOLDER, '..', 'robots') })).rejects.toThrow(
    /no request in it.*f13-no-host\.ndjson:1: 'http:\/\/' is no origin/,
  )
})

test('where no page could be judged by its rules, the auditor says so and exits 4', async () => {
  expect(await judge('f14-all-unjudged.ndjson')).toMatchObject({
    code: 4,
    report: { verdict: 'partly-judged', unjudged: 2, total: 0 },
  })
  const said: string[] = []
  expect(await auditCommand([join(FOLDER, 'f14-all-unjudged.ndjson')], {}, (text) => said.push(text))).toBe(4)
  expect(said.join('')).toContain('no page could be judged by its rules')
})

test('a last line that was cut inside its origin is dropped', async () => {
  const { report } = await judge('f15-cut-last.log')
  expect(report).toMatchObject({ requests: 2, origins: 1, setAside: { lines: 1, byReason: { cut: 1 } } })
})

test("octets that nginx escapes are the path's octets", async () => {
  const { report } = await judge('f16-octets.log', { robots: join(FOLDER, '..', 'robots') })
  expect(found(report)).toEqual({ disallowed: 1 })
  expect(report.examples[0]).toMatchObject({ because: 'line 2 of robots.txt: disallow: /é' })
})

test('a user name with a blank and the junk of scanners are set aside, counted, and the rest is judged', async () => {
  const blank = await judge('f17-user-blank.log')
  expect(blank).toMatchObject({
    code: 4,
    report: { requests: 2, total: 0, setAside: { lines: 1, byReason: { unreadable: 1 } } },
  })
  expect(blank.report.setAside.examples[0]).toMatchObject({ line: 2, why: expect.stringContaining('known formats') })
  expect(await judge('f18-scanner.ndjson')).toMatchObject({
    code: 0,
    report: { requests: 2, total: 0, noRequest: 1, setAside: { lines: 0 } },
  })
})

test('a 503 that took no time does not stand in its own back-off', async () => {
  expect(await judge('f20-own-503.ndjson')).toMatchObject({ code: 0, report: { total: 0 } })
})

test('every record of the folder was judged', () => {
  expect([...judged].sort()).toEqual(readdirSync(FOLDER).sort())
})
