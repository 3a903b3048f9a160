/** What `npm run check` and `npm test` are made of: judges of the source, and suites of tests. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { root } from './say.mjs'

/** Each reads the whole project and answers with its exit code; the slow one first. */
const judges = [
  { name: 'dead code', command: ['knip', '--no-progress'] },
  { name: 'types', command: ['tsc', '--noEmit', '-p', 'tsconfig.json'] },
  { name: 'promises', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format and lint', command: ['biome', 'check', '--error-on-warnings', '.'] },
]

/** @typedef {{ name: string, ok: boolean, seconds: number, passed?: number, failed?: number, skipped?: number }} Result */

/** Runs the judges side by side, as many as there are cores. @returns {Promise<Result[]>} */
export async function runJudges(env) {
  const results = []
  const waiting = judges.values()
  const worker = async () => {
    for (const judge of waiting) results.push(await runJudge(judge, env))
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), judges.length) }, worker))
  return results
}

/** Silent when it is content. @returns {Promise<Result>} */
async function runJudge({ name, command }, env) {
  const { code, seconds, output } = await run(command, env, { show: false })
  if (code !== 0) process.stdout.write(`\n--- ${name} ---\n${output.trimEnd()}\n\n`)
  return told({ name, ok: code === 0, seconds })
}

/**
 * Runs one vitest project. A run that breaks off before it has counted is one failure.
 * @param {{ show: boolean }} how  show: its report as it comes; else only when something failed
 * @returns {Promise<Result>}
 */
export async function runSuite(project, env, { show }) {
  const folder = join(root, '.cache', 'test')
  const counted = join(folder, `${project}-${process.pid}.json`)
  mkdirSync(folder, { recursive: true })
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts', 'count-tests.mjs')}`]
  const command = ['vitest', 'run', '--project', project, ...reporters]
  const { code, seconds, output } = await run(command, { ...env, DECORUM_TEST_COUNTS: counted }, { show })
  if (code !== 0 && !show) process.stdout.write(output)
  const counts = countsIn(counted) ?? { passed: 0, failed: 1, skipped: 0 }
  rmSync(counted, { force: true })
  return told({ name: `tests: ${project}`, ok: code === 0 && counts.failed === 0, seconds, ...counts })
}

/** The last line of a run, alone on it, and the exit code that goes with it. */
export function close(results) {
  const sum = (key) => results.reduce((total, result) => total + (result[key] ?? 0), 0)
  const unhappy = results.filter((result) => !result.ok).map((result) => result.name)
  if (unhappy.length > 0) process.stdout.write(`\nfailed: ${unhappy.join(', ')}\n`)
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : ''
  process.stdout.write(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped}\n`)
  return unhappy.length === 0 ? 0 : 1
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

function told(result) {
  process.stdout.write(`${result.ok ? 'ok    ' : 'FAILED'} ${result.name.padEnd(16)} ${result.seconds.toFixed(1)} s\n`)
  return result
}
