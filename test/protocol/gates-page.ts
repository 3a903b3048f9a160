/**
 * docs/gates.md, printed from the table of gates.
 *
 *   node test/protocol/gates-page.ts --write      writes the page; without --write it is printed
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  cellOf,
  GATE_TABLE,
  type GateName,
  type GateRow,
  MOMENTS,
  type Moment,
  WHATS,
  type What,
} from '@decorum/protocol/gates'

export const GATES_PAGE = join(import.meta.dirname, '../../docs/gates.md')

const HEAD = `# Gates

May a request be sent now, and if not, which gate holds it, until when, what becomes of its lane, and who wakes it when the gate opens?
This page is printed from \`packages/protocol/src/gates.ts\` (\`node test/protocol/gates-page.ts --write\`), the table from which the
scripts of the ledger are made, and which \`decorum url why\`, the console and the model read. A gate that is unknown refuses.
`

const names = Object.keys(GATE_TABLE) as GateName[]
const whats = Object.keys(WHATS) as What[]
const moments = Object.keys(MOMENTS) as Moment[]
const rowOf = (gate: GateName): GateRow => GATE_TABLE[gate]

const list = (title: string, texts: Readonly<Record<string, string>>): string =>
  [`| ${title} | |`, '|---|---|', ...Object.entries(texts).map(([name, text]) => `| \`${name}\` | ${text} |`), ''].join(
    '\n',
  )

const gates = (): string =>
  [
    '## The gates\n',
    '| gate | it is closed when | known by | reaches | what becomes of the lane | who wakes it |',
    '|---|---|---|---|---|---|',
    ...names.map((gate) => {
      const { means, knownBy, scope, lane, wakes } = rowOf(gate)
      return `| \`${gate}\` | ${means} | ${knownBy} | ${scope} | ${lane} | ${wakes} |`
    }),
    '',
  ].join('\n')

/** Reasons are numbered: many cells share one. */
function cells(moment: Moment, reasons: string[]): string {
  const asked = whats.filter((what) => names.some((gate) => cellOf(gate, what, moment) === true))
  const rows = names.map((gate) => {
    const texts = asked.map((what) => {
      const cell = cellOf(gate, what, moment)
      if (cell === true) return 'counts'
      const known = reasons.indexOf(cell)
      return `${known < 0 ? reasons.push(cell) : known + 1}`
    })
    return `| \`${gate}\` | ${texts.join(' | ')} |`
  })
  const head = `| | ${asked.map((what) => `\`${what}\``).join(' | ')} |`
  return [`## ${moment}: ${MOMENTS[moment]}\n`, head, `|---|${asked.map(() => '---|').join('')}`, ...rows, ''].join(
    '\n',
  )
}

export function gatesPage(): string {
  const reasons: string[] = []
  const tables = moments.map((moment) => cells(moment, reasons))
  const why = ['## Why a gate does not count\n', ...reasons.map((reason, n) => `${n + 1}. ${reason}`), ''].join('\n')
  return [HEAD, list('a request is', WHATS), gates(), ...tables, why].join('\n')
}

if (import.meta.main) {
  if (process.argv.includes('--write')) writeFileSync(GATES_PAGE, gatesPage())
  else process.stdout.write(gatesPage())
}
