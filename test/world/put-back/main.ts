/**
 * `node test/world/put-back/main.ts [--seconds N] [--seed S] [--only TEXT] [--part 1/3] [--again] [--all]`: puts each fault of table.ts back, one after the other, and lets the world
 * look for it for so long (60 s of CPU each), first by the seed that found it before. Prints what found it, or that nothing did, writes that into found-by.json, and ends with exit
 * code 1 when one was missed that the table does not except, or one was found that it does. `--again` leaves out those that were found before; `--all` plays those, too, that the
 * table excepts. What found a fault is played once more without it, and has to keep all promises then: otherwise it is an alarm for nothing, and the fault is not found. An error
 * that the product did not throw in a run ends the command with exit code 2.
 */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findRedis, spawnRedis } from '@decorum/cli/local-redis/testing'
import type { FoundBy } from './fault.ts'
import { FAULTS } from './table.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '1/1' },
    again: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
  },
})

type Tried = { seconds: number; seed?: number; why?: string }
const FILE = new URL('found-by.json', import.meta.url)
const known = (): FoundBy => JSON.parse(readFileSync(FILE, 'utf8')) as FoundBy

/** In a process of its own, because a module is loaded once. */
function tryOne(name: string, path: string, seed: number, ...how: 'without'[]): Promise<Tried> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'try.ts'), name, path, values.seconds, String(seed), ...how],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  let errors = ''
  child.stdout.on('data', (piece) => (said += piece))
  child.stderr.on('data', (piece) => (errors += piece))
  return new Promise((resolve, reject) =>
    child.once('close', (code, signal) => {
      const last = said.trim().split('\n').at(-1) ?? ''
      if (code === 0 && last.startsWith('{')) resolve(JSON.parse(last) as Tried)
      else reject(new Error(`'${name}' could not be tried (${code ?? signal}):\n${errors.trim()}`))
    }),
  )
}

const dir = await mkdtemp(join(tmpdir(), 'decorum-put-back-'))
const path = join(dir, 'redis.sock')
const binary = await findRedis((line) => console.log(line))
const server = await spawnRedis(binary, { dir, appendonly: false, more: { unixsocket: path } })
const [part = 1, parts = 1] = values.part.split('/').map(Number)
const wanted = FAULTS.filter(({ name }) => name.includes(values.only))
  .filter((_, n) => n % parts === part - 1)
  .filter(({ name }) => !values.again || known()[name] === undefined)
const counts = { found: 0, missed: 0, excepted: 0, wrongly: 0, alarms: 0 }
try {
  for (const { name, cannot } of wanted) {
    if (cannot !== undefined && !values.all) {
      counts.excepted++
      console.log(`cannot   ${name}: ${cannot}`)
      continue
    }
    const { seconds, seed, why } = await tryOne(name, path, known()[name]?.seed ?? Number(values.seed))
    const alarm = seed === undefined ? undefined : (await tryOne(name, path, seed, 'without')).why
    if (alarm !== undefined) {
      counts.alarms++
      write(name, undefined)
      console.log(`alarm    ${name}: seed ${seed} breaks a promise without it as well: ${alarm.slice(0, 200)}`)
      continue
    }
    const by = why?.slice(0, 120)
    if (by === undefined) counts[cannot === undefined ? 'missed' : 'excepted']++
    else counts[cannot === undefined ? 'found' : 'wrongly']++
    write(name, by === undefined || seed === undefined ? undefined : { seed, seconds, by })
    const word = by === undefined ? (cannot === undefined ? 'missed  ' : 'cannot  ') : 'found   '
    console.log(`${word} ${name} in ${seconds} s${by === undefined ? '' : ` (seed ${seed}): ${by}`}`)
  }
  process.exitCode = counts.missed + counts.wrongly + counts.alarms > 0 ? 1 : 0
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 2
} finally {
  server.child.kill('SIGTERM')
  await server.exited
  await rm(dir, { recursive: true, force: true })
}
console.log(
  `${counts.found} found, ${counts.missed} missed, ${counts.excepted} that the world cannot find` +
    (counts.alarms === 0 ? '' : `, ${counts.alarms} alarms for nothing`) +
    (counts.wrongly === 0 ? '' : `, ${counts.wrongly} found although the table says that it cannot`),
)

/** @param found  undefined: it was missed */
function write(name: string, found: FoundBy[string] | undefined): void {
  const { [name]: _, ...others } = known()
  const all = found === undefined ? others : { ...others, [name]: found }
  const lines = FAULTS.flatMap((one) =>
    all[one.name] === undefined ? [] : [`  ${JSON.stringify(one.name)}: ${JSON.stringify(all[one.name])}`],
  )
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`)
}
