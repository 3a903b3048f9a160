/** `npm run storm -- failover`: exit 1 on a broken promise, or on a failover that took longer to heal than promised. */
import { parseArgs } from 'node:util'
import { findRedis } from '@decorum/cli/local-redis/testing'
import { type FailoverResult, failOver, healsWithin } from './failover.ts'
import { SCALED } from './manners.ts'
import { printRows, type Rows } from './print-rows.ts'

export async function failoverCommand(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { rounds: { type: 'string', default: '4' } } })
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1) {
    process.stderr.write('storm: --rounds wants a whole number above 0\n')
    return 2
  }
  const say = (line: string): void => void process.stderr.write(`failover: ${line}\n`)
  const { version } = await findRedis(() => undefined)
  const result = await failOver({ rounds, times: SCALED, sites: 12, patienceMs: 40_000, say })
  const within = healsWithin(SCALED)
  const late = result.failovers.filter(({ at, healedAt = Infinity }) => healedAt - at > within)
  process.stdout.write(print(result, within, late.length, version))
  return result.broken.length + late.length === 0 ? 0 : 1
}

const s = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

function print(result: FailoverResult, within: number, late: number, version: string): string {
  const { failovers, requests, violations, accepted, lost, lostWithTail, deaths, troubles, broken, ms } = result
  const rows: Rows = [
    ['length', s(ms)],
    ['server', version],
    [`failovers healed within ${s(within)}`, `${failovers.length - late} of ${failovers.length}`],
    ...[...Map.groupBy(failovers, ({ kind }) => kind)].map(([kind, some]): [string, string] => {
      const took = some.map(({ at, healedAt = Infinity }) => healedAt - at).toSorted((a, b) => a - b)
      return [`  ${kind}`, took.map(s).join(', ')]
    }),
    ['requests heard by sites', String(requests)],
    ['violations', String(violations)],
    ['accepted', String(accepted)],
    ['lost', String(lost.length)],
    ['lost with the last writes of a master', String(lostWithTail)],
    ['processes that ended', String(deaths.length)],
  ]
  return printRows(rows, { troubles, broken })
}
