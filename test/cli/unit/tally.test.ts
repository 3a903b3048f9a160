/** Which URLs of a crawl have their outcome, whatever the order in which word of them comes. */
import { Tally } from '@decorum/cli/testing'
import type { Outcome } from '@decorum/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const outcome = (id: string, url: string, body: object): Outcome =>
  ({ id, url, agent: 'decorum', at: 0, attempts: 1, ...body }) as Outcome
const fetched = (id: string, url: string): Outcome => outcome(id, url, { kind: 'fetched', status: 200 })
const moved = (id: string, url: string, to: string, candidate: string): Outcome =>
  outcome(id, url, { kind: 'redirected', status: 301, to, candidate })

test('a line is done with its outcome, once; others’ outcomes do not count', () => {
  const tally = new Tally('run')
  tally.expect(3, 'http://a.example/x')
  tally.expect(7, 'http://a.example/y')
  expect([tally.total, tally.left, [...tally.pending]]).toEqual([2, 2, [['http://a.example', 2]]])
  expect(tally.record(fetched('run-3', 'http://a.example/x'))).toBe('new')
  expect(tally.record(fetched('run-3', 'http://a.example/x'))).toBe('again')
  expect(tally.record(fetched('other-7', 'http://a.example/y'))).toBe('elsewhere')
  expect(tally.record(fetched('run-x', 'http://a.example/y'))).toBe('elsewhere')
  expect([tally.done, tally.left, tally.fetched, [...tally.pending]]).toEqual([1, 1, 1, [['http://a.example', 1]]])
  expect([tally.hasOutcome(3), tally.hasOutcome(7), tally.hasOutcome(1_000_000)]).toEqual([true, false, false])
})

test('lines that are not read any more are left, but for those that have their outcome', () => {
  const tally = new Tally('run')
  tally.record(fetched('run-4', 'http://a.example/4'))
  tally.expect(1, 'http://a.example/1')
  for (const line of [1, 3, 4, 6]) tally.leave(line)
  expect([tally.total, tally.done, tally.left]).toEqual([4, 1, 3])
})

test('a redirect is done and its target is waited for, hop by hop', () => {
  const tally = new Tally('run')
  tally.expect(1, 'http://a.example/')
  tally.record(moved('run-1', 'http://a.example/', 'http://b.example/', 'run-1~1'))
  expect([tally.total, tally.left]).toEqual([2, 1])
  expect([...tally.pending]).toEqual([['http://b.example', 1]])
  tally.record(moved('run-1~1', 'http://b.example/', 'http://b.example/2', 'run-1~2'))
  tally.record(fetched('run-1~2', 'http://b.example/2'))
  expect([tally.total, tally.left, tally.pending.size]).toEqual([3, 0, 0])
  expect(tally.counts).toMatchObject({ byKind: { redirected: 2, fetched: 1 }, byReason: { 'fetched: 200': 1 } })
  expect(tally.lineOf('run-1~2')).toBe(1)
})

test('in whatever order outcomes come, twice or once, before or after their lines: the same sums', () => {
  const lines = [1, 2, 3, 5, 8]
  const outcomes = lines.flatMap((line) => {
    const [first, second] = [`http://s${line}.example/`, `http://s${line + 1}.example/to`]
    return line % 2 === 0
      ? [fetched(`run-${line}`, first)]
      : [moved(`run-${line}`, first, second, `run-${line}~1`), fetched(`run-${line}~1`, second)]
  })
  fc.assert(
    fc.property(
      fc.shuffledSubarray([...outcomes, ...outcomes], { minLength: outcomes.length * 2 }),
      fc.nat(5),
      (order, early) => {
        const tally = new Tally('run')
        // as a resumed crawl does: some outcomes are known before their lines are read again
        for (const one of order.slice(0, early)) tally.record(one)
        for (const line of lines) tally.expect(line, `http://s${line}.example/`)
        for (const one of order.slice(early)) tally.record(one)
        expect([tally.total, tally.done, tally.left, tally.fetched]).toEqual([8, 8, 0, 5])
        expect(tally.pending.size).toBe(0)
      },
    ),
  )
})

test('of a batch only what is new counts, each once, and nothing counts before it is recorded', () => {
  const tally = new Tally('run')
  for (const line of [1, 2, 3]) tally.expect(line, 'http://a.example/')
  tally.record(fetched('run-1', 'http://a.example/'))
  const batch = ['run-1', 'run-2', 'other-3', 'run-2'].map((id) => fetched(id, 'http://a.example/'))
  expect(tally.newOf(batch).map(({ id }) => id)).toEqual(['run-2'])
  expect([tally.left, tally.done]).toEqual([2, 1])
})

test('pending redirect targets are known with their hops, in whatever order they were recorded', () => {
  const tally = new Tally('run')
  tally.record(moved('run-1~1', 'http://b.example/', 'http://c.example/', 'run-1~2'))
  tally.record(moved('run-1', 'http://a.example/', 'http://b.example/', 'run-1~1'))
  tally.record(moved('run-2', 'http://a.example/2', 'http://d.example/', 'run-2~1'))
  expect(tally.waitingTargets()).toEqual([
    { id: 'run-1~2', url: 'http://c.example/', hops: 2 },
    { id: 'run-2~1', url: 'http://d.example/', hops: 1 },
  ])
  tally.record(fetched('run-2~1', 'http://d.example/'))
  expect(tally.waitingTargets().map(({ id }) => id)).toEqual(['run-1~2'])
})

test('an outcome of a line that is not in the list stands for no other line', () => {
  const tally = new Tally('run')
  tally.record(fetched('run-9', 'http://a.example/'))
  tally.expect(1, 'http://a.example/')
  expect(tally.left).toBe(1)
})
