/** What stands between `npm start` and the command: signals once, exit codes as they are, nothing left behind. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, expect, test } from 'vitest'

const launcher = join(import.meta.dirname, 'launch.mjs')
const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

/** Starts a launcher of a program given as source text; `lines` are what the program prints. */
function launch(source: string, sameSignalMs = 500) {
  const child = spawn(process.execPath, [launcher, '--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SAME_SIGNAL_MS: String(sameSignalMs) },
  })
  started.push(child)
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](), exit: once(child, 'exit') }
}

test('the exit code of the command is that of npm start; 128 + signal when it was killed', async () => {
  expect(await launch('process.exit(3)').exit).toEqual([3, null])
  expect(await launch("process.kill(process.pid, 'SIGKILL')").exit).toEqual([137, null])
})

const HEARS = `
  let heard = 0
  process.on('SIGINT', () => { console.log('INT', ++heard); if (heard === 2) process.exit(0) })
  process.on('SIGTERM', () => console.log('TERM'))
  const { ppid } = process
  setInterval(() => { if (process.ppid !== ppid) process.exit() }, 200) // the launcher was killed by a test that failed
  console.log('up')`

test('one Ctrl-C that arrives twice (terminal and npm) is passed on once', async () => {
  const { child, lines, exit } = launch(HEARS, 3_600_000) // on a busy machine the second may take longer than 500 ms
  await lines.next()
  child.kill('SIGINT')
  expect((await lines.next()).value).toBe('INT 1')
  child.kill('SIGINT') // npm's copy
  child.kill('SIGTERM') // had the copy been passed on, 'INT 2' would stand before this
  expect((await lines.next()).value).toBe('TERM')
  child.kill('SIGHUP') // it has no answer to this one
  expect(await exit).toEqual([129, null])
})

test('a second Ctrl-C, later, is passed on', async () => {
  const { child, lines, exit } = launch(HEARS)
  await lines.next()
  child.kill('SIGINT')
  expect((await lines.next()).value).toBe('INT 1')
  const again = setInterval(() => child.kill('SIGINT'), 700) // a person presses again
  expect((await lines.next()).value).toBe('INT 2')
  clearInterval(again)
  expect(await exit).toEqual([0, null])
})

/** A program that keeps a connection to us: when it closes, the program is gone. */
async function watched() {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const source = `import { connect } from 'node:net'
    connect(${port}, '127.0.0.1').on('error', () => {})
    setInterval(() => {}, 1000)`
  const connected = once(server, 'connection') as Promise<[Socket]>
  const gone = connected.then(([socket]) => once(socket.resume(), 'close')).finally(() => server.close())
  return { source, connected, gone }
}

test('the command ends when its launcher is killed', async () => {
  const { source, connected, gone } = await watched()
  const { child } = launch(source)
  await connected
  child.kill('SIGKILL')
  await gone
})

test('when npm itself is killed, launcher and command end', async () => {
  const { source, connected, gone } = await watched()
  const npm = spawn(
    '/bin/sh',
    ['-c', '"$@"; true', 'npm', process.execPath, launcher, '--input-type=module', '-e', source],
    {
      env: { ...process.env, npm_lifecycle_event: 'start' },
      stdio: 'ignore',
    },
  )
  await connected
  npm.kill('SIGKILL')
  await gone
})
