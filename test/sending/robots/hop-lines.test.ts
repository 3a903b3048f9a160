/** Hops of robots fetches to other hosts: one at a time, apart from each other, and only a few that wait. */
import { setTimeout as sleep } from 'node:timers/promises'
import { hopLines } from '@decorum/sending/robots'
import { expect, test } from 'vitest'

const never = (): boolean => false
const hop = (host: string, delayMs = 0) => ({
  host,
  delayMs,
  isLate: never,
  wait: <T>(work: () => Promise<T>) => work(),
})

test('of many hops to one host, four wait and the others are late at once', async () => {
  const lines = hopLines()
  let now = 0
  let most = 0
  const answers = await Promise.all(
    Array.from({ length: 400 }, () =>
      lines.inTurn(hop('victim.test'), async () => {
        most = Math.max(most, ++now)
        await sleep(1)
        now--
        return 'made'
      }),
    ),
  )
  expect([answers.filter((one) => one === 'made').length, answers.filter((one) => one === 'late').length]).toEqual([
    4, 396,
  ])
  expect(most).toBe(1)
})

test('twenty-five wait for all hosts together', async () => {
  const lines = hopLines()
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) => lines.inTurn(hop(`host-${n}.test`), () => sleep(5, 'made'))),
  )
  expect(answers.filter((one) => one === 'made')).toHaveLength(25)
})

test('the next hop to a host comes four of its delays later, and one that has no time for that is late', async () => {
  const clock = { ms: 0 }
  const lines = hopLines(() => clock.ms)
  expect(await lines.inTurn(hop('a.test', 1_000), async () => 'made')).toBe('made')
  const late = { ...hop('a.test', 1_000), isLate: (waitMs: number) => waitMs >= 4_000 }
  expect(await lines.inTurn(late, async () => 'made')).toBe('late')
  expect(await lines.inTurn(hop('b.test', 1_000), async () => 'made')).toBe('made')
  clock.ms += 4_000
  expect(await lines.inTurn(late, async () => 'made')).toBe('made')
})

test('a hop that throws holds nobody up', async () => {
  const lines = hopLines()
  const broken = lines.inTurn(hop('a.test'), async () => {
    throw new Error('broken')
  })
  const next = lines.inTurn(hop('a.test'), async () => 'made')
  await expect(broken).rejects.toThrow('broken')
  expect(await next).toBe('made')
})
