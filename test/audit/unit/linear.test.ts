/** The work of the judge grows with the log and no faster: counted, for a test must not measure time. */
import { agentsOf, openAudit, type RequestLine } from '@decorum/audit'
import { loadPaceGroups } from '@decorum/politeness'
import { expect, test } from 'vitest'
import { MIXES } from '../../../bench/audit/mixes.ts'

const EPOCH = 1_790_000_000_000
const SIZES = [2_000, 4_000, 8_000]

function stepsFor(mix: (typeof MIXES)[number], lines: number, groups: boolean): number {
  const meter = { steps: 0 }
  const agents = agentsOf({ profile: 'decorum', minDelayMs: 1_000, maxDelayMs: 10_000 })
  const audit = openAudit({ agents, meter, ...(groups ? { paceGroups: loadPaceGroups('') } : {}) })
  audit.body('h', 'User-agent: *\nDisallow: /never\nCrawl-delay: 1\n')
  for (let n = 0; n < lines; n++) {
    const { ms = 0, ...line } = mix.line(n)
    const start = EPOCH + n * mix.everyMs
    const request = {
      kind: 'request',
      origin: 'http://a.test',
      agent: 'bot/1',
      method: 'GET',
      start,
      end: start + ms,
      status: 200,
      ...line,
    }
    audit.request(request as RequestLine, 0, n + 1)
  }
  audit.report()
  return meter.steps
}

test.each(
  MIXES.flatMap((mix) =>
    [false, true].map((groups) => ({ mix, groups, name: mix.name, with: groups ? 'with pace groups' : 'by lanes' })),
  ),
)('a log of $name, $with', ({ mix, groups }) => {
  const [one, two, four] = SIZES.map((lines) => stepsFor(mix, lines, groups)) as [number, number, number]
  expect(one).toBeGreaterThanOrEqual(SIZES[0]!)
  expect(two / one).toBeLessThan(2.3)
  expect(four / one).toBeLessThan(4.6)
})
