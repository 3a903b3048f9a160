/** The short form of `npm run storm -- rolling`; figures of the long one are in docs/operating.md. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SCALED } from '../storm/manners.ts'
import { roll } from '../storm/rolling.ts'
import { copyOfThisTree } from '../storm/trees.ts'
import { THIS_TREE } from '../storm/worker.ts'

const SEED = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000)

test('processes of two versions, each replaced by one of the other version under load: nothing is early, lost or asked again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-other-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const other = join(folder, 'tree')
  await copyOfThisTree(other, '0.0.0-other')
  const result = await roll({
    seed: SEED,
    restarts: 3,
    trees: [other, THIS_TREE],
    times: SCALED,
    processes: { gateway: 1, fetcher: 1, permits: 0, console: 1 },
    sites: 15,
    rate: 8,
    pauseMs: 500,
    calmMs: 60_000,
  })
  expect(result.broken, `seed ${SEED} (again: DECORUM_SEED=${SEED})`).toEqual([])
  expect(result.restarts.map(({ role }) => role)).toEqual(['gateway', 'fetcher', 'console'])
  expect(result.verdict.report.requests).toBeGreaterThan(100)
  expect(result.answers.get(202)).toBeGreaterThan(1)
})
