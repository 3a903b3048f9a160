/** `npm run storm -- takeover [--urls N] [--sites N] [--kills N] [--earlier COMMIT]`: exit 1 on a broken promise. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { printRows, type Rows } from './print-rows.ts'
import { longestOf } from './stalls.ts'
import { type TakeoverResult, takeOver } from './takeover.ts'
import { treeOfCommit } from './trees.ts'

/** The last commit of this repository that stored layout 3. */
const LAYOUT_3 = '35fd08a3'

export async function takeoverCommand(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      urls: { type: 'string', default: '1000000' },
      sites: { type: 'string', default: '4000' },
      kills: { type: 'string', default: '6' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      earlier: { type: 'string', default: LAYOUT_3 },
    },
  })
  const [urls = 0, sites = 0, kills = 0, seed = 0] = [values.urls, values.sites, values.kills, values.seed].map(Number)
  if (![urls, sites, kills, seed].every(Number.isInteger) || urls < 1 || sites < 1 || kills < 0) {
    process.stderr.write('storm: --urls, --sites, --kills and --seed want whole numbers\n')
    return 2
  }
  const say = (line: string): void => void process.stderr.write(`takeover: ${line}\n`)
  const folder = await mkdtemp(join(tmpdir(), 'decorum-earlier-'))
  try {
    const earlier = join(folder, 'tree')
    say(`setting up commit ${values.earlier}`)
    await treeOfCommit(earlier, values.earlier)
    const result = await takeOver({
      seed,
      urls,
      sites,
      earlier,
      kills,
      beforeMs: 30_000,
      backMs: 30_000,
      afterMs: 60_000,
      say,
    })
    process.stdout.write(`seed ${seed}\n${printTakeover(result)}`)
    return result.verdict.broken.length === 0 ? 0 : 1
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const s = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`

function printTakeover({
  facts,
  verdict,
  attempts,
  leasesOut,
  killed,
  closedMs,
  troubles,
  ms,
}: TakeoverResult): string {
  const { extra, report } = verdict
  const last = attempts.at(-1)
  const rows: Rows = [
    ['length', s(ms)],
    [
      'upgrades killed',
      `${attempts.filter(({ end }) => end === 'killed').length} (the ledger was left: ${attempts.map(({ stands }) => stands).join(', ')})`,
    ],
    ['steps back', String(attempts.filter(({ back }) => back).length)],
    ['steps, of all', String(attempts.reduce((sum, { steps }) => sum + steps, 0))],
    ['longest step', `${Math.max(...attempts.map(({ longestStepMs }) => longestStepMs)).toFixed(1)} ms of Redis`],
    ['the upgrade that ended', `${s(last?.ms ?? 0)} with its start, ${last?.steps} steps`],
    ['from the last closing to the end, killed ones included', s(closedMs)],
    ['leases out when the ledger was closed', leasesOut.join(', ')],
    ['gateways and fetchers killed', String(killed)],
    ['requests heard by sites', `${report.requests} at ${report.origins} origins`],
    ['longest stall of the machine', s(longestOf(facts.stalls))],
    ['violations', String(verdict.violations.length)],
    ['smallest slack', `${report.smallestSlackMs?.toFixed(1)} ms`],
    ['accepted = outcomes + stored', `${verdict.accepted} = ${verdict.outcomes} + ${verdict.stored}`],
    ['lost', String(verdict.lost.length)],
    ['second outcomes', String(verdict.doubled.length)],
    ['requests that came again', `${extra.kill} after a kill or a closing`],
  ]
  return printRows(rows, { troubles, broken: verdict.broken })
}
