/** The link to Redis is cut while leases are to be ended: they are ended when it is back, and nothing is held until they are over. */

import type { LaneRef } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { loadPaceGroups } from '@decorum/politeness'
import { systemClock } from '@decorum/protocol'
import { sinceNow } from '@decorum/runtime'
import { Lease, type TurnTools, takeTurn, untilOver } from '@decorum/sending/testing'
import { expect, onTestFinished, test } from 'vitest'
import { agentsOf, polite } from '../../fetcher/support/tools.ts'
import { openLink } from '../../storm/link.ts'
import { PATIENT } from '../../support/patient.ts'
import { redisForTest } from '../../support/redis.ts'

const redis = await redisForTest()
const DELAY = 1_000
const LEASE_MS = 45_000
/** More tries than any fixed number that was ever in use. */
const TRIES = 6

test('the own lane and that of the host owe their delay, not the rest of the lease, however often the report was not heard', async () => {
  const clock = { nowMs: () => now }
  let now = 1_800_000_000_000
  const near = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...clock, ...PATIENT })
  onTestFinished(() => near.close())
  now += 1_000 // the first hold of an empty ledger
  const link = await openLink(redis.port)
  onTestFinished(() => link.close())
  const far = await openLedgerWithViews({
    redis: `redis://127.0.0.1:${link.port}`,
    partitions: 1,
    ...clock,
    ...PATIENT,
  })
  onTestFinished(() => far.close())

  const counts = { unheard: 0, stale: 0 }
  const tools: TurnTools = {
    ledger: far,
    groups: loadPaceGroups(undefined),
    addressOf: async () => undefined,
    reporter: untilOver(systemClock, counts),
    agents: agentsOf(),
  }
  const origin = 'http://cut.example'
  const lane = { agent: polite.key, origin }
  const taken: LaneRef[] = []
  const turn = await takeTurn(
    { agent: polite, origin, delayMs: DELAY, by: lane },
    async (hostLane) => {
      const lanes = [lane, ...(hostLane === undefined ? [] : [hostLane])]
      const fences: number[] = []
      for (const one of lanes) {
        const granted = await far.acquire({ lanes: [one], kind: 'pace-group', delayMs: DELAY })
        if (granted.kind !== 'granted') throw new Error(`${one.agent}: ${granted.kind}`)
        taken.push(one)
        fences.push(granted.fence)
      }
      const [fence = 0, hostFence = 0] = fences
      const own = { ...lane, fence, delayMs: DELAY, kind: 'secondary' as const }
      const host = hostLane === undefined ? undefined : { fence: hostFence, delayMs: DELAY }
      return { kind: 'granted' as const, own, host, since: sinceNow(systemClock), leaseMs: LEASE_MS }
    },
    tools,
  )
  if (turn.kind !== 'held') throw new Error(turn.kind)
  const lease = new Lease(polite, turn, { fetchDeadlineMs: 30_000, leaseMs: LEASE_MS }, tools)
  expect(taken, 'the lane and that of its host').toHaveLength(2)

  link.hurt('away')
  const ending = lease.end({ what: 'fetched', bytes: 0, endedAt: performance.now(), load: { kind: 'normal' } })
  await expect.poll(() => counts.unheard).toBeGreaterThanOrEqual(TRIES)
  link.heal()
  await ending
  for (const one of taken) {
    const again = await near.acquire({ lanes: [one], kind: 'pace-group', delayMs: DELAY })
    expect(again, one.agent).toMatchObject({ kind: 'wait' })
    if (again.kind === 'wait') expect(again.waitMs).toBeLessThanOrEqual(DELAY)
  }
})
