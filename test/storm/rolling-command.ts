/** `npm run storm -- rolling`: exit 1 on a broken promise, or on a process that took longer to end than promised. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DEFAULTS } from './manners.ts'
import { printRows, type Rows } from './print-rows.ts'
import { drainWithin, type Restart, type RollingResult, roll } from './rolling.ts'
import { longestOf } from './stalls.ts'
import { copyOfThisTree, treeOfCommit } from './trees.ts'
import { THIS_TREE, type Worker } from './worker.ts'

const ROLES: Worker['role'][] = ['gateway', 'fetcher', 'permits', 'console']

export async function rollingCommand(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      restarts: { type: 'string', default: '20' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      other: { type: 'string' },
    },
  })
  const [restarts, seed] = [Number(values.restarts), Number(values.seed)]
  if (!Number.isInteger(restarts) || restarts < 1 || !Number.isInteger(seed)) {
    process.stderr.write('storm: --restarts wants a whole number above 0, --seed a whole one\n')
    return 2
  }
  const say = (line: string): void => void process.stderr.write(`rolling: ${line}\n`)
  const folder = await mkdtemp(join(tmpdir(), 'decorum-other-'))
  try {
    const other = join(folder, 'tree')
    if (values.other === undefined) await copyOfThisTree(other, '0.0.0-other')
    else {
      say(`setting up commit ${values.other}`)
      await treeOfCommit(other, values.other)
    }
    const result = await roll({
      seed,
      restarts,
      trees: [other, THIS_TREE],
      times: DEFAULTS,
      processes: { gateway: 2, fetcher: 3, permits: 2, console: 1 },
      sites: 150,
      rate: 40,
      pauseMs: 3_000,
      calmMs: 120_000,
      say,
    })
    const within = drainWithin(DEFAULTS)
    const late = result.restarts.filter(({ drainMs }) => drainMs > within)
    process.stdout.write(`seed ${seed}\n${printRolling(result, within)}`)
    return result.broken.length + late.length === 0 ? 0 : 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const s = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

function printRolling(
  { verdict, holders, restarts, broken, answers, troubles, facts, ms }: RollingResult,
  within: number,
): string {
  const longest = (some: Restart[], what: 'drainMs' | 'startMs'): string =>
    s(Math.max(0, ...some.map((one) => one[what])))
  const rows: Rows = [
    ['length', s(ms)],
    ['restarts', String(restarts.length)],
    ...ROLES.map((role): [string, string] => {
      const some = restarts.filter((one) => one.role === role)
      return [
        `  ${role}`,
        `${some.length}, longest end ${longest(some, 'drainMs')}, longest start ${longest(some, 'startMs')}`,
      ]
    }),
    [`longest end (at most ${s(within)})`, longest(restarts, 'drainMs')],
    ['requests heard by sites', `${verdict.report.requests} at ${verdict.report.origins} origins`],
    ['exchanges under permits', String(Object.values(holders.exchanges).reduce((sum, n) => sum + n, 0))],
    [
      'answers of the console to candidates',
      [...answers].map(([status, n]) => `${n} × ${status || 'none'}`).join(', '),
    ],
    ['longest stall of the machine', s(longestOf(facts.stalls))],
    ['violations', String(verdict.violations.length)],
    ['smallest slack', `${verdict.report.smallestSlackMs?.toFixed(1)} ms`],
    ['accepted = outcomes + stored', `${verdict.accepted} = ${verdict.outcomes} + ${verdict.stored}`],
    ['lost', String(verdict.lost.length)],
    ['second outcomes', String(verdict.doubled.length)],
    ['extra requests', String(Object.values(verdict.extra).reduce((sum, n) => sum + n, 0))],
  ]
  return printRows(rows, { troubles, broken })
}
