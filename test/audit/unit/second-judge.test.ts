/** The auditor against the judge that was written from docs/audit.md alone. */
import { judgeRecord } from '@decorum/audit'
import { expect, test } from 'vitest'
import { diceOf, randomCase } from '../random-record.ts'
import { judgeAgain } from '../second-judge.ts'

const RECORDS = Number(process.env.RECORDS ?? 1_200)
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`second-judge: seed ${seed} (SEED=${seed} replays it)`)

test.each([1_500_049_394])('the record of seed %i, about which they differed: both find the same', (known) => {
  const { given, options, record } = randomCase(diceOf(known))
  const report = judgeRecord(record, options)
  const first = report.examples.map(({ line, offence }) => `${line.line} ${offence}`).sort()
  expect({ offences: first, unjudged: report.unjudged }).toEqual(judgeAgain(given))
})

test(`${RECORDS} random records: both judges find the same, request by request`, () => {
  const seen = new Map<string, number>()
  let verdicts = 0
  for (let n = 0; n < RECORDS; n++) {
    const { given, options, record } = randomCase(diceOf(seed + n))
    const again = judgeAgain(given)
    const report = judgeRecord(record, options)
    const first = report.examples.map(({ line, offence }) => `${line.line} ${offence}`).sort()
    for (const one of first) {
      const offence = one.split(' ')[1]!
      seen.set(offence, (seen.get(offence) ?? 0) + 1)
    }
    verdicts += report.requests
    const both = { auditor: first, unjudged: report.unjudged }
    expect(both, `record ${n}: SEED=${seed + n} RECORDS=1 replays it alone`).toEqual({
      auditor: again.offences,
      unjudged: again.unjudged,
    })
  }
  console.log(`${verdicts} requests judged twice; ${[...seen].map(([name, times]) => `${name} ${times}`).join(', ')}`)
  // A comparison in which a kind of offence never occurs shows nothing about it.
  expect([...seen.keys()].sort()).toEqual(
    [
      ...['before-rules', 'disallowed', 'in-back-off', 'overlap', 'pace-group', 'robots-overlap', 'robots-too-often'],
      ...['rules-too-old', 'rules-unreachable', 'short-delay'],
    ].sort(),
  )
})
