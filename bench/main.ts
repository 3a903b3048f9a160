/**
 * `npm run bench [name…] [-- --short]`: every `*.bench.ts` of this folder, or those named, one after the other. The other options are for
 * the benches that take them (peers).
 * The full form writes `results.md`; the short one only prints: it shows that the benches run, not how fast.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { commit, conditions } from './frame/machine.ts'
import type { BenchOptions, BenchSection } from './frame/one.ts'
import { withResult } from './frame/results-page.ts'

const FOLDER = import.meta.dirname
const ENDING = '.bench.ts'
const RESULTS = join(FOLDER, 'results.md')

/** @returns exit code: 0 done, 1 a bench failed, 2 no such bench */
async function main(args: string[]): Promise<number> {
  const text = { type: 'string' } as const
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      short: { type: 'boolean' },
      ...{ only: text, through: text, processes: text, scheme: text, seeds: text },
    },
  })
  const options: BenchOptions = { ...values, short: values.short === true }
  const { short } = options
  const all = readdirSync(FOLDER)
    .filter((name) => name.endsWith(ENDING))
    .map((name) => name.slice(0, -ENDING.length))
    .sort()
  const unknown = positionals.filter((name) => !all.includes(name))
  if (unknown.length > 0) {
    process.stderr.write(`bench: there is no ${unknown.join(', ')}; there are ${all.join(', ')}\n`)
    return 2
  }
  const where = await conditions()
  process.stdout.write(`${where}\n`)
  let failed = 0
  for (const key of positionals.length > 0 ? positionals : all) {
    const startedAt = performance.now()
    const section = await runOne(key, options)
    if (section === undefined) {
      process.stderr.write(`bench ${key}: failed\n`)
      failed += 1
      continue
    }
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    process.stdout.write(`\n${section.name} (${seconds} s)\n${section.lines.join('\n')}\n`)
    if (short) continue
    const when = `${new Date().toISOString().slice(0, 10)}, commit ${commit()}, ${seconds} s`
    const page = existsSync(RESULTS) ? readFileSync(RESULTS, 'utf8') : ''
    writeFileSync(RESULTS, withResult(page, { key, ...section, when, conditions: where }))
  }
  return failed === 0 ? 0 : 1
}

async function runOne(key: string, options: BenchOptions): Promise<BenchSection | undefined> {
  const child = fork(join(FOLDER, 'frame', 'one.ts'), [join(FOLDER, key + ENDING), JSON.stringify(options)])
  let section: BenchSection | undefined
  child.on('message', (message) => {
    section = message as BenchSection
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code === 0 ? section : undefined
}

process.exitCode = await main(process.argv.slice(2))
