/** `decorum guard -- COMMAND …`: a fleet and a proxy for one command, whose exit code, output and signals are its own. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { decorum, folder, site, startDecorum } from '../cli/decorum.ts'
import { installed } from './fleet.ts'

const curl = installed('curl')

test.skipIf(curl === undefined)(
  'curl, unchanged: each request in its turn, what is forbidden refused, and all of it said at the end',
  async () => {
    const times: number[] = []
    const { origin, asked } = await site((request, response) => {
      if (request.url === '/robots.txt') response.end('User-agent: *\nDisallow: /no\n')
      else {
        times.push(performance.now())
        response.end('page')
      }
      return true
    })
    const redis = 'http://127.0.0.1:6379'
    const pages = ['/a', '/b', '/no', '/c'].map((path) => origin + path)
    const urls = [...pages, `${redis}/`].flatMap((url) => ['-o', '/dev/null', url])
    const { code, stdout, stderr } = await decorum(
      ['guard', '--', curl as string, '--parallel', '-s', '-w', '%{http_code} %{url}\\n', ...urls],
      { env: { DEFAULT_DELAY_MS: '300', http_proxy: 'http://127.0.0.1:1', no_proxy: '127.0.0.1' } },
    )
    expect(code, stderr).toBe(0)
    expect(stdout.trim().split('\n').sort()).toEqual([
      ...['/a', '/b', '/c'].map((path) => `200 ${origin}${path}`),
      ...[`${origin}/no`, `${redis}/`].map((url) => `403 ${url}`).sort(),
    ])
    expect(asked.sort()).toEqual(['/a', '/b', '/c'])
    const gaps = times.slice(1).map((at, n) => at - (times[n] ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(290)
    expect(stderr).toMatch(
      /decorum: 5 requests: 3 sent, 2 refused \((?=.*1 disallowed)(?=.*1 guarded-port)[^)]*\); [345] waited, [\d.]+ s each on average\n/,
    )
    expect(stderr).toContain(`decorum:   ${origin}: `)
  },
)

test('its exit code is that of the command: of its own, of a signal, of a command that is not there', async () => {
  const run = (...command: string[]) => decorum(['guard', '--', ...command])
  const [own, killed, missing, barred] = await Promise.all([
    run('/bin/sh', '-c', 'exit 42'),
    run('/bin/sh', '-c', 'kill -KILL $$'),
    run('no-such-crawler'),
    run('/etc/passwd'),
  ])
  expect([own, killed, missing, barred].map(({ code }) => code)).toEqual([42, 137, 127, 126])
  expect(missing.stderr).toMatch(/decorum: there is no command no-such-crawler\n$/)
  expect(own.stderr).toMatch(/0 requests: the command sent nothing through the proxy/)
  const bare = await decorum(['guard', '/bin/sh', '-c', 'exit $1', '-q', '3'])
  expect(bare.code, 'without --').toBe(3)
  const none = await decorum(['guard', '--agent', 'nobody', '--', 'true'])
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('nobody')])
  const homeless = await decorum(['guard', '--', 'true'], { env: { XDG_DATA_HOME: '/proc/nowhere' } })
  expect([homeless.code, homeless.stderr]).toEqual([
    2,
    expect.stringMatching(
      /^decorum: no data can be kept in \/proc\/nowhere\/decorum \(.*\): name one .* XDG_DATA_HOME, .*\n$/,
    ),
  ])
})

test('the command finds the proxy by every name, keeps the umask of its user, and gets the signals', async () => {
  const dir = await folder()
  await writeFile(
    join(dir, 'crawler.sh'),
    `trap 'echo terminated; exit 7' TERM
     echo "$http_proxy $https_proxy $HTTP_PROXY $HTTPS_PROXY [$no_proxy] [$NO_PROXY] [$ALL_PROXY] $NODE_USE_ENV_PROXY $(umask)"
     for n in $(seq 3000); do sleep 0.1; done`,
  )
  const running = startDecorum(['guard', '--agent', 'decorum', '--crawl', 'spring', '--', '/bin/sh', 'crawler.sh'], {
    cwd: dir,
    env: { NO_PROXY: 'x', no_proxy: 'x', ALL_PROXY: 'socks5://x' },
  })
  await running.hears(/ 1 0\d\d\d\n/)
  running.child.kill('SIGTERM')
  const { code, stdout } = await running.result
  expect(code).toBe(7)
  const [first = '', last] = stdout.trim().split('\n')
  const address = /^http:\/\/decorum\+spring:@127\.0\.0\.1:\d+/.exec(first)?.[0]
  const umask = process.umask().toString(8).padStart(4, '0')
  expect(first).toBe(`${address} ${address} ${address} ${address} [] [] [] 1 ${umask}`)
  expect(last).toBe('terminated')
})

/** What a busy machine does to a process: it stands still for half a second, whenever it has set its umask. */
const STANDS_STILL = `data:text/javascript,${encodeURIComponent(`
  const umask = process.umask.bind(process)
  process.umask = (mask) => {
    const before = umask(mask)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    return before
  }
`)}`

test('a signal that comes as the command begins reaches the command', async () => {
  const script = 'trap "exit 7" TERM; kill -TERM $PPID; for n in $(seq 300); do sleep 0.1; done'
  const { code, stderr } = await decorum(['guard', '--', '/bin/sh', '-c', script], {
    env: { NODE_OPTIONS: `--import ${STANDS_STILL}` },
  })
  expect(code, stderr).toBe(7)
})

test.skipIf(curl === undefined)('two commands at once share one fleet: a site sees one visitor', async () => {
  const spans: { from: number; to: number }[] = []
  const { origin } = await site((request, response) => {
    if (request.url === '/robots.txt') response.writeHead(404).end()
    else {
      const one = { from: performance.now(), to: Number.POSITIVE_INFINITY }
      spans.push(one)
      setTimeout(() => {
        one.to = performance.now()
        response.end('page')
      }, 60)
    }
    return true
  })
  const results = await Promise.all(
    ['a', 'b'].map((name) => {
      const urls = [1, 2, 3].flatMap((n) => ['-o', '/dev/null', `${origin}/${name}${n}`])
      const command = [curl as string, '-s', '-w', '%{http_code}\\n', ...urls]
      return decorum(['guard', '--json', '--', ...command], { env: { DEFAULT_DELAY_MS: '150' } })
    }),
  )
  for (const { code, stdout, stderr } of results) {
    expect([code, stdout], stderr).toEqual([0, '200\n200\n200\n'])
    const summary = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .at(-1)
    expect(summary).toMatchObject({ event: 'summary', code: 0, all: { requests: 3, sent: 3, refused: 0 } })
  }
  const sorted = spans.toSorted((a, b) => a.from - b.from)
  const gaps = sorted.slice(1).map(({ from }, n) => from - (sorted[n]?.to ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(145)
})
