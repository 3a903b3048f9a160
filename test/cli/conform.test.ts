/** `decorum permits conform` when the worker ends, when it is stopped itself, and when what it has started itself fails. */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { decorum, folder, type Running, startDecorum } from './decorum.ts'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

type Verdicts = { conforms: boolean; situations: { name: string; complaints: string[] }[] }
async function complaintsOf(only: string, ...worker: string[]): Promise<Record<string, string[]>> {
  const { stdout, stderr } = await decorum(['permits', 'conform', '--json', '--only', only, '--', ...worker])
  expect(stderr).toBe('')
  const { situations } = JSON.parse(stdout) as Verdicts
  return Object.fromEntries(situations.map(({ name, complaints }) => [name, complaints]))
}

describe('the worker ends', () => {
  test('at once: each complaint comes with its exit code and its last words, and nothing more is tried', async () => {
    const ended = 'the worker ended (exit code 3): no module named foo'
    const worker = ['sh', '-c', 'echo "no module named foo" >&2; exit 3']
    expect(await complaintsOf('cookies,stop,terminated', ...worker)).toEqual({
      cookies: ['one: no outcome', 'two: no outcome', ended],
      stop: ['page: no outcome', 'it was not tried', ended],
      terminated: ['it was not tried', ended],
    })
  })

  test('in the middle of a situation: nobody waits for what it would have done', async () => {
    const worker = [process.execPath, at('../permits/bad-worker.mjs'), '{url}', '{pool}', 'dead-lease=quits']
    expect(await complaintsOf('dead-lease,terminated', ...worker)).toEqual({
      'dead-lease': ['page: no outcome', 'the worker ended (exit code 7)'],
      terminated: ['it was not tried', 'the worker ended (exit code 7)'],
    })
  })
})

test('a good worker passes where its sites are not among those that record', async () => {
  const worker = ['python3', at('../../integrations/python/worker.py'), '{url}', '{pool}']
  expect(await complaintsOf('headers', ...worker)).toEqual({ headers: [] })
})

/** Takes no order. It has a child that ignores SIGTERM. */
const IDLE = 'trap "" TERM; sleep 100000 & trap - TERM; echo "$$ $!" > "$0.new"; mv "$0.new" "$0"; wait'
/** It ignores SIGTERM itself. */
const STUBBORN = IDLE.replace('trap - TERM; ', '')

async function tryWorker(script: string): Promise<{ running: Running; pids: number[]; temporary: string }> {
  const temporary = await folder()
  const note = join(await folder(), 'pids')
  const running = startDecorum(['permits', 'conform', '--only', 'page', '--', 'sh', '-c', script, note], {
    env: { TMPDIR: temporary },
  })
  await expect.poll(() => existsSync(note) || running.child.exitCode !== null).toBe(true)
  expect(existsSync(note), running.said()).toBe(true)
  const pids = readFileSync(note, 'utf8').trim().split(' ').map(Number)
  onTestFinished(() => {
    for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGKILL')
  })
  expect(await ownFolders(temporary)).toHaveLength(1)
  return { running, pids, temporary }
}
const ownFolders = async (temporary: string): Promise<string[]> =>
  (await readdir(temporary)).filter((name) => name.startsWith('decorum-conform-'))

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

describe('conform is stopped', () => {
  test('SIGTERM ends the worker with its children, also those that ignore it, and leaves no folder: exit code 3', async () => {
    const { running, pids, temporary } = await tryWorker(IDLE)
    running.child.kill('SIGTERM')
    expect(await running.result).toMatchObject({ code: 3, stdout: '' })
    await expect.poll(() => pids.filter(isAlive)).toEqual([])
    expect(await ownFolders(temporary)).toEqual([])
  })

  test('the second Ctrl-C ends it at once, the worker too', async () => {
    const { running, pids, temporary } = await tryWorker(STUBBORN)
    running.child.kill('SIGINT')
    await running.hears('Ctrl-C again ends at once')
    running.child.kill('SIGINT')
    const [code] = await once(running.child, 'exit')
    expect(code).toBe(3)
    await expect.poll(() => pids.filter(isAlive)).toEqual([])
    expect(await ownFolders(temporary)).toEqual([])
  })
})

type Row = { pid: number; parent: number; command: string }
/** What runs on this machine, from Linux's /proc. */
async function processes(): Promise<Row[]> {
  const rows = (await readdir('/proc'))
    .filter((name) => /^\d+$/.test(name))
    .map(async (pid): Promise<Row[]> => {
      const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8')
      try {
        const [, parent] = /\) \S (\d+)/.exec(await read('stat')) ?? []
        return [{ pid: Number(pid), parent: Number(parent), command: (await read('cmdline')).replaceAll('\0', ' ') }]
      } catch {
        return [] // it has ended meanwhile
      }
    })
  return (await Promise.all(rows)).flat()
}

/** Process ids of what conform has started, by a part of their command lines. */
async function startedBy(conform: number | undefined, part: string): Promise<number[]> {
  const rows = await processes()
  const own = new Set([conform])
  for (let size = 0; size !== own.size;) {
    size = own.size
    for (const { pid, parent } of rows) if (own.has(parent)) own.add(pid)
  }
  return rows
    .filter(({ pid, command }) => own.has(pid) && pid !== conform && command.includes(part))
    .map(({ pid }) => pid)
}

const PARTS = [
  ['Redis', 'redis-server', /Redis failed: .*SIGKILL/],
  ['sites', 'web-process', /sites failed: their process ended \(SIGKILL\)/],
  ['fleet', 'main.ts gateway', /fleet failed: gateway-1 ended \(SIGKILL\)/],
] as const
describe.skipIf(process.platform !== 'linux')('what conform has started itself fails', () => {
  for (const [name, part, why] of PARTS)
    test(`${name}: the worker is not accused, a sentence says what has failed`, async () => {
      const { running, pids } = await tryWorker(IDLE)
      const victims = await startedBy(running.child.pid, part)
      expect(victims).not.toEqual([])
      for (const pid of victims) process.kill(pid, 'SIGKILL')
      const { code, stdout, stderr } = await running.result
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^decorum: conform: the worker was not judged, because conform's own .*\n$/)
      expect(stderr).toMatch(why)
      await expect.poll(() => pids.filter(isAlive)).toEqual([])
    })
})
