/** `decorum ledger partitions --restart`: a restart of Redis for which the fleet was stopped costs no hold. */
import { openLedgerWithViews } from '@decorum/ledger/views'
import { expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../support/redis.ts'
import { decorum } from './decorum.ts'

test('it is refused while the fleet runs; then a restart holds nothing, and one that is not announced says until when it holds', async () => {
  const redis = await startRedis({ appendonly: true })
  onTestFinished(() => redis.stop())
  const notices: string[] = []
  const open = () =>
    openLedgerWithViews({ redis: redis.url, partitions: 1, onNotice: (sentence) => notices.push(sentence) })
  const announce = () => decorum(['ledger', 'partitions', '--restart'], { env: { REDIS_URL: redis.url } })
  const first = await open()
  const gateway = { role: 'gateway', id: 'g', slots: 0 }
  await first.announce(gateway)
  const refused = await announce()
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/stop the fleet first: 0 requests .* gateway/),
  ])
  await first.announce(gateway, 0)
  expect((await announce()).code).toBe(0)
  await first.close()

  const heldMs = async () => {
    const ledger = await open()
    onTestFinished(() => ledger.close())
    await ledger.announce(gateway)
    const view = await ledger.viewPartition(0)
    return Math.max(0, (view.holdUntil ?? 0) - view.now)
  }
  await redis.restart()
  expect(await heldMs()).toBeLessThan(2_000)
  expect(notices).toEqual([])
  await redis.restart()
  expect(await heldMs()).toBeGreaterThan(50_000)
  await expect
    .poll(() => notices.at(-1))
    .toMatch(
      /Redis was started again.*nothing is fetched for 55 s, until \d\d:\d\d:\d\d UTC.*decorum ledger partitions --restart/,
    )
})
