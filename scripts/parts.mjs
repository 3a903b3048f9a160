/** The parts of `npm run check` and `npm test`: checks of the source, and suites of tests. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { root } from './say.mjs'

/** Each reads the whole project and ends with an exit code; the slowest first. */
const checks = [
  { name: 'dead code', command: ['knip', '--no-progress'] },
  { name: 'types', command: ['tsc', '--noEmit', '-p', 'tsconfig.json'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format', command: ['oxfmt', '--check', '**/*.{ts,mts,mjs,js}'] }, // without --check it writes
]

/** @typedef {{ name: string, ok: boolean, seconds: number, passed?: number, failed?: number, skipped?: number }} Result */

/** @param {number} sideBySide  how many of the checks run at once @returns {Promise<Result[]>} */
export async function runChecks(env, sideBySide = availableParallelism()) {
  const results = []
  const waiting = checks.values()
  const worker = async () => {
    for (const check of waiting) results.push(await runCheck(check, env))
  }
  await Promise.all(Array.from({ length: Math.min(sideBySide, checks.length) }, worker))
  return results
}

/** Prints the output only when the check fails. @returns {Promise<Result>} */
async function runCheck({ name, command }, env) {
  const { code, seconds, output } = await run(command, env, { show: false })
  if (code !== 0) process.stdout.write(`\n--- ${name} ---\n${output.trimEnd()}\n\n`)
  return printed({ name, ok: code === 0, seconds })
}

/**
 * Runs some projects of vitest, those of one group side by side. A run that ends before it has counted its tests is one failure.
 * @param {{ show: boolean }} how  show: print its report as it comes; else only when a test failed
 * @returns {Promise<Result>}
 */
export async function runSuite(name, projects, env, { show }) {
  const folder = join(root, '.cache', 'test')
  const counted = join(folder, `${name}-${process.pid}.json`)
  mkdirSync(folder, { recursive: true })
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'count-tests.mjs')}`]
  const command = ['vitest', 'run', ...projects.map((project) => `--project=${project}`), ...reporters]
  const { code, seconds, output } = await run(command, { ...env, DECORUM_TEST_COUNTS: counted }, { show })
  if (code !== 0 && !show) process.stdout.write(output)
  const counts = countsIn(counted) ?? { passed: 0, failed: 1, skipped: 0 }
  rmSync(counted, { force: true })
  return printed({ name: `tests: ${name}`, ok: code === 0 && counts.failed === 0, seconds, ...counts })
}

/** Prints the last line of a run and returns its exit code. */
export function close(results) {
  const sum = (key) => results.reduce((total, result) => total + (result[key] ?? 0), 0)
  const failed = results.filter((result) => !result.ok).map((result) => result.name)
  if (failed.length > 0) process.stdout.write(`\nfailed: ${failed.join(', ')}\n`)
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : ''
  process.stdout.write(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped}\n`)
  return failed.length === 0 ? 0 : 1
}

function countsIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

async function run([command, ...args], env, { show }) {
  const startedAt = performance.now()
  const child = spawn(command, args, {
    cwd: root,
    env,
    stdio: show ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of show ? [] : [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const code = await new Promise((resolve) => {
    child.once('error', (error) => {
      output += error.message
      resolve(1)
    })
    child.once('close', (exitCode) => resolve(exitCode ?? 1))
  })
  return { code, seconds: (performance.now() - startedAt) / 1000, output }
}

function printed(result) {
  process.stdout.write(`${result.ok ? 'ok    ' : 'FAILED'} ${result.name.padEnd(16)} ${result.seconds.toFixed(1)} s\n`)
  return result
}
