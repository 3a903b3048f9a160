/** `npm run storm -- --minutes N --seed S [--scaled] [--keep DIR]`: exit 1 on a broken promise or a late return. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { longForm, shortForm } from './forms.ts'
import { printVerdict } from './print-verdict.ts'
import { storm } from './storm.ts'

export async function stormCommand(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '1.5' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      scaled: { type: 'boolean', default: false },
      keep: { type: 'string' },
    },
  })
  const minutes = Number(values.minutes)
  const seed = Number(values.seed)
  if (!(minutes > 0) || !Number.isInteger(seed)) {
    process.stderr.write('storm: --minutes wants a number above 0, --seed a whole one\n')
    return 2
  }
  const form = values.scaled || minutes < 5 ? shortForm(seed, minutes * 60_000) : longForm(seed, minutes)
  const result = await storm({ ...form, say: (line) => process.stderr.write(`storm: ${line}\n`) })
  if (values.keep !== undefined) {
    await mkdir(values.keep, { recursive: true })
    const { evidence, faults, book, stored } = result.facts
    await writeFile(
      join(values.keep, 'faults.json'),
      JSON.stringify({ seed, faults, broken: result.verdict.broken, residual: result.verdict.residual }, null, 1),
    )
    const handed = [...book.outcomes].map(([id, list]) => [
      id,
      list.map(({ outcome, at }) => [at, outcome.kind, outcome.attempts]),
    ])
    await writeFile(
      join(values.keep, 'book.json'),
      JSON.stringify({ accepted: [...book.accepted], handed, stored: [...stored] }),
    )
    const bodies = [...evidence.bodies].map(([hash, body]) =>
      JSON.stringify({ kind: 'robots', hash, body: String(body) }),
    )
    await writeFile(
      join(values.keep, 'visits.ndjson'),
      `${[...bodies, ...evidence.requests.map((line) => JSON.stringify(line))].join('\n')}\n`,
    )
  }
  process.stdout.write(`seed ${seed}\n${printVerdict(result)}`)
  return result.verdict.broken.length + result.verdict.late.length === 0 ? 0 : 1
}
