/** `decorum status top` on a terminal of its own (a pty of util-linux's `script`), and on a pipe; completion of shells. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { openLedger } from '@decorum/ledger'
import { describe, expect, onTestFinished, test } from 'vitest'
import { programOf } from '../support/programs.ts'
import { redisForTest } from '../support/redis.ts'
import { decorum, folder, startDecorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
const script = programOf('script')
const run = promisify(execFile)

async function fleet() {
  const ledger = await openLedger({ redis: redis.url, partitions: 1 })
  onTestFinished(() => ledger.close())
  const about = { host: 'here', pid: 4_711, version: '9.9.9', config: 0, pending: [] }
  await ledger.announce({ id: 'g', role: 'gateway', slots: 0, about }, 600_000)
  await ledger.announce({ id: 'f', role: 'fetcher', slots: 50 }, 600_000)
  return ledger
}
const store = (ledger: Awaited<ReturnType<typeof fleet>>, id: string, path = `/${id}`) =>
  ledger.store(0, [
    {
      lane: { agent: 'decorum', origin: `http://${id}.example` },
      pending: { id, path, expiresAt: Date.now() + 600_000, hops: 0, priority: 'normal' },
    },
  ])

test('on a pipe it is told once: headline, sums, processes with their versions, lanes', async () => {
  const ledger = await fleet()
  await store(ledger, 'piped')
  const { code, stdout } = await decorum(['status', 'top'], { env: { REDIS_URL: redis.url } })
  expect(code).toBe(0)
  expect(stdout).toMatch(/gateway +4711 +here +9\.9\.9/)
  expect(stdout).toMatch(/http:\/\/piped\.example \(decorum\)/)
  expect(stdout).not.toContain('\u001b')
  const told = await decorumHere(['status', 'top', '--json'], { env: { REDIS_URL: redis.url } })
  expect(JSON.parse(told.stdout)).toMatchObject({ members: [{ role: 'fetcher' }, { role: 'gateway' }] })
})

describe.skipIf(script === undefined)('on a terminal', () => {
  test('it follows the fleet, obeys nothing that a site wrote, and leaves the screen as it was when q is pressed', async () => {
    const ledger = await fleet()
    const running = startDecorum(['-qec', `${process.execPath} packages/cli/src/main.ts status top`, '/dev/null'], {
      env: { REDIS_URL: redis.url, TERM: 'xterm' },
      command: script as string,
    })
    await running.hears('ROLE')
    await store(ledger, 'seen-later')
    await running.hears('seen-later.example')
    running.child.stdin?.write('q')
    const { code, stdout } = await running.result
    expect(code).toBe(0)
    expect(stdout).toContain('\u001b[?1049h') // the other screen
    expect(stdout.trimEnd().endsWith('\u001b[?25h\u001b[?1049l'), 'back, with its cursor').toBe(true)
    expect(stripVTControlCharacters(stdout)).toMatch(/gateway +4711 +here/)
  })
})

describe('completion', () => {
  test('bash completes commands, their own commands, options and the values of options', async () => {
    const file = join(await folder(), 'completion')
    const { code, stdout } = await decorum(['--completion', 'bash'])
    expect(code).toBe(0)
    await writeFile(file, stdout)
    const complete = async (...words: string[]): Promise<string[]> => {
      const text = `source ${file}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _decorum; printf '%s\\n' "\${COMPREPLY[@]}"`
      const bash = spawn('bash', ['--norc', '-c', text], { stdio: ['ignore', 'pipe', 'inherit'] })
      let told = ''
      bash.stdout.setEncoding('utf8').on('data', (part: string) => {
        told += part
      })
      await once(bash, 'close')
      return told.trim().split('\n')
    }
    expect(await complete('decorum', 'f')).toEqual(['fetcher'])
    expect(await complete('decorum', 'status', 'f')).toEqual(['fleet'])
    expect(await complete('decorum', 'origin', 'https://example.com', '--pa')).toEqual(['--pause'])
    expect(await complete('decorum', 'origin', 'sitemaps', '--en')).toEqual(['--enqueue'])
    expect(await complete('decorum', 'config', 'a')).toEqual(['apply'])
    expect(await complete('decorum', 'config', 'apply', '--y')).toEqual(['--yes'])
    expect(await complete('decorum', 'check', '--profile', 'google')).toEqual(['google', 'google-2022'])
  })

  test('a shell is given each command, option and value with its meaning', async () => {
    const complete = async (...words: string[]) => (await decorumHere(['--complete', ...words])).stdout.split('\n')
    expect(await complete('')).toContain('crawl\tCrawl a list of URLs; end when each of them has its outcome')
    expect(await complete('status', '')).toContain(
      'top\tShow the state of the fleet until q or Ctrl-C; on a pipe, print it once',
    )
    expect(await complete('crawl', '--exp')).toContain(
      '--expire-minutes\tGive up a URL that waits for longer than this (default: 24 hours)',
    )
    for (const shell of ['zsh', 'fish'])
      expect((await decorumHere(['--completion', shell])).stdout).toContain('--complete')
  })

  const fish = programOf('fish')
  test.skipIf(fish === undefined)(
    'fish itself completes commands, their own commands, options and the values of options',
    async () => {
      const file = join(await folder(), 'completion')
      await writeFile(file, (await decorumHere(['--completion', 'fish'])).stdout)
      const complete = async (line: string): Promise<string[]> => {
        const text = `source ${file}; complete -C '${line}'`
        const { stdout } = await run(fish as string, ['--no-config', '-c', text])
        return stdout
          .trim()
          .split('\n')
          .map((one) => one.split('\t')[0] ?? '')
      }
      expect(await complete('decorum f')).toEqual(['fetcher'])
      expect(await complete('decorum config a')).toEqual(['apply'])
      expect(await complete('decorum config apply --y')).toEqual(['--yes'])
      expect(await complete('decorum check --profile google')).toEqual(['google', 'google-2022'])
    },
  )

  const zsh = programOf('zsh')
  test.skipIf(zsh === undefined)(
    'zsh itself, on a terminal, completes what the tabulator key is pressed behind',
    async () => {
      const dir = await folder()
      await writeFile(join(dir, 'completion'), (await decorumHere(['--completion', 'zsh'])).stdout)
      // The key completes, and then prints the line as it is: nothing is typed behind it before that has been read
      const text = `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1=; autoload -U compinit; compinit -D; source ${dir}/completion'
zpty -w z 'tell() { zle expand-or-complete; print -r -- "<$BUFFER>" }; zle -N tell; bindkey "^I" tell; print READY'
zpty -r -m z out '*READY*READY*'
for line in 'decorum fetc' 'decorum config ap' 'decorum origin https://x --pa' 'decorum config apply --y' 'decorum check --profile rfc'; do
  zpty -w -n z $'\\C-u'"$line"$'\t'
  zpty -r -m z out '*<decorum *>*'
  print -r -- "\${\${out##*<}%%>*}"
done
zpty -d z`
      const { stdout } = await run(zsh as string, ['-f', '-c', text])
      expect(
        stdout
          .trim()
          .split('\n')
          .map((line) => line.trim()),
      ).toEqual([
        ...[
          'decorum fetcher',
          'decorum config apply',
          'decorum origin https://x --pause',
          'decorum config apply --yes',
          'decorum check --profile rfc9309',
        ],
      ])
    },
  )

  test('another shell is refused', async () => {
    expect((await decorumHere(['--completion', 'csh'])).code).toBe(2)
  })
})
