/**
 * `node test/world/put-back/main.ts [--seconds N] [--seed S] [--only TEXT] [--part 1/3] [--again]`: puts each fault of table.ts back, one after the other, and lets the world look
 * for it for so long (60 s of CPU each), first by the seed that found it before. Prints what found it, or that nothing did, writes that into found-by.json, and ends with exit
 * code 1 when one was missed that the table does not except. `--again` leaves out those that were found before.
 */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findRedis, spawnRedis } from '@decorum/cli/local-redis/testing'
import { FAULTS, type FoundBy } from './table.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '1/1' },
    again: { type: 'boolean', default: false },
  },
})

type Tried = { seconds: number; seed?: number; why?: string }
const FILE = new URL('found-by.json', import.meta.url)
const known = (): FoundBy => JSON.parse(readFileSync(FILE, 'utf8')) as FoundBy

/** In a process of its own, because a module is loaded once. */
function tryOne(name: string, path: string): Promise<Tried> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'try.ts'), name, path, values.seconds, String(known()[name]?.seed ?? values.seed)],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  let errors = ''
  child.stdout.on('data', (piece) => (said += piece))
  child.stderr.on('data', (piece) => (errors += piece))
  return new Promise((resolve, reject) =>
    child.once('close', () => {
      const last = said.trim().split('\n').at(-1) ?? ''
      if (last.startsWith('{')) resolve(JSON.parse(last) as Tried)
      else reject(new Error(`${name}: ${errors.trim().split('\n').slice(0, 8).join(' | ')}`))
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
const missed: string[] = []
let count = 0
let excepted = 0
try {
  for (const { name, cannot } of wanted) {
    count++
    if (cannot !== undefined) {
      excepted++
      console.log(`cannot   ${name}: ${cannot}`)
      continue
    }
    // A fault may also end the run by an error of its own: then it is found as well.
    const { seconds, seed, why } = await tryOne(name, path).catch((error: Error): Tried => ({
      seconds: 0,
      seed: 0,
      why: error.message,
    }))
    if (why === undefined) missed.push(name)
    write(name, why === undefined || seed === undefined ? undefined : { seed, seconds, by: why.slice(0, 120) })
    console.log(
      `${why === undefined ? 'missed  ' : 'found   '} ${name} in ${seconds} s${why === undefined ? '' : ` (seed ${seed}): ${why.slice(0, 120)}`}`,
    )
  }
} finally {
  server.child.kill('SIGTERM')
  await server.exited
  await rm(dir, { recursive: true, force: true })
}
console.log(
  `${count} faults: ${count - excepted - missed.length} found, ${missed.length} missed, ${excepted} that the world cannot find`,
)
process.exitCode = missed.length > 0 ? 1 : 0

/** @param found  undefined: it was missed */
function write(name: string, found: FoundBy[string] | undefined): void {
  const { [name]: _, ...others } = known()
  const all = found === undefined ? others : { ...others, [name]: found }
  const lines = FAULTS.flatMap((one) =>
    all[one.name] === undefined ? [] : [`  ${JSON.stringify(one.name)}: ${JSON.stringify(all[one.name])}`],
  )
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`)
}
