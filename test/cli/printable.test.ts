/** What strangers write into URLs, headers, rules, agents and reasons is shown on a terminal, never obeyed. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { describe, expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { decorum, folder, type Result, site } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
/** Clears the screen, writes a title, turns the direction, forges a line; in C0, C1 and by format characters. */
const EVIL = '\u001b[2J\u001b]0;title\u0007\u009b31m\u202e\u2066\u200b\u007f\u{e0041}'
const EVIL_LINE = `${EVIL}\n✓ no violation`
/** Colours of our own stay. */
const ESCAPE = '\u001b'
const OURS = new RegExp(`${ESCAPE}\\[(1|22|31|32|39)m`, 'g')
const OBEYED = /[^\P{Cc}\n]|[\p{Cf}\u2028\u2029]/u

function harmless({ stdout, stderr }: Result): string {
  const shown = (stdout + stderr).replace(OURS, '')
  expect(shown).not.toMatch(OBEYED)
  expect(shown.split('\n').filter((line) => line.startsWith('✓'))).toEqual([])
  return shown
}

const FORCED = { FORCE_COLOR: '1' } // as on a terminal

describe('audit', () => {
  const line = (n: number) =>
    JSON.stringify({
      kind: 'request',
      origin: `http://a.example${n === 0 ? '' : EVIL_LINE}`,
      agent: `bot${EVIL_LINE}`,
      path: `/${EVIL_LINE}`,
      start: n * 100,
      end: n * 100 + 50,
      status: 200,
      address: EVIL_LINE,
    })

  test('its report, and its JSON, which stays exact', async () => {
    const log = join(await folder(), 'log.ndjson')
    await writeFile(log, `${[0, 1, 2, 3].map(line).join('\n')}\n`)
    const told = await decorum(['audit', log], { env: FORCED })
    expect(told.code).toBe(1)
    expect(harmless(told)).toContain('\\u001b[2J')
    const json = await decorumHere(['audit', log, '--json'], { env: FORCED })
    harmless(json)
    expect(JSON.stringify(JSON.parse(json.stdout))).toContain(JSON.stringify(EVIL_LINE).slice(1, -1))
  })

  test('a line that cannot be read', async () => {
    const log = join(await folder(), 'log.ndjson')
    await writeFile(log, `${JSON.stringify({ kind: EVIL_LINE })}\n`)
    expect(harmless(await decorumHere(['audit', log], { env: FORCED }))).toContain('\\u009b31m')
  })
})

test('check: rules, sitemaps, odd lines and warnings of a file and of a site', async () => {
  const robots = `User-agent: *\nDisallow: /${EVIL}\nSitemap: http://a.example/${EVIL}\n${EVIL}: ${EVIL}\nCrawl-delay: ${EVIL}\n`
  const file = join(await folder(), 'robots.txt')
  await writeFile(file, robots)
  expect(harmless(await decorum(['check', 'http://a.example/x', '--robots', file]))).toContain('\\u001b[2J')
  harmless(await decorumHere(['check', 'http://a.example/x', '--robots', file, '--json']))
  const { origin } = await site((_, response) => {
    response.writeHead(200, { 'x-header': 'caf\u00e9\u009b31m', 'content-type': 'text/plain' })
    response.end(robots)
    return true
  })
  expect(harmless(await decorumHere(['check', `${origin}/x`]))).toContain('\\u202e')
})

test('outcomes and origin: what frontiers, sites and operators wrote into Redis', async () => {
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1 })
  onTestFinished(() => ledger.close())
  const origin = 'https://evil.example'
  const id = `id-${EVIL_LINE}`
  const outcome = { id, url: `${origin}/`, agent: 'decorum', at: Date.now(), attempts: 1, meta: { [EVIL]: EVIL_LINE } }
  await ledger.store(0, [{ outcome: { ...outcome, kind: 'failed', reason: 'dns', detail: EVIL_LINE } }])
  const read = await decorum(['outcomes'], { env: { REDIS_URL: redis.url } })
  harmless(read)
  expect(read.stdout.trimEnd().split('\n')).toHaveLength(1)
  expect(JSON.parse(read.stdout)).toMatchObject({ id, detail: EVIL_LINE, meta: { [EVIL]: EVIL_LINE } })
  const reason = EVIL_LINE
  await ledger.operate({ origin, by: EVIL, reason, action: 'pause' }, ['decorum'])
  expect(harmless(await decorum(['origin', origin], { env: { REDIS_URL: redis.url } }))).toContain('\\u202e')
  harmless(await decorumHere(['origin', origin, '--json'], { env: { REDIS_URL: redis.url } }))
})

test.each([
  ['a URL', ['check', `http://a.example:99999/${EVIL}`]],
  ['a file of rules', ['check', 'http://a.example/', '--robots', `/nowhere/${EVIL}`]],
  ['an origin', ['origin', EVIL]],
  ['a command', [EVIL]],
  ['an option', ['crawl', `--${EVIL}`]],
  ['a list', ['enqueue', `/nowhere/${EVIL}`]],
])('errors that quote what was typed: %s', async (_, args) => {
  const result = await decorumHere(args, { cwd: await folder() })
  expect(result.code).toBe(2)
  expect(harmless(result)).toContain('\\u')
})

test('no file of the command writes to stdout or stderr but terminal.ts', async () => {
  const src = new URL('../../packages/cli/src/', import.meta.url)
  /** JSON to the parent that started it, an error handler; whoever hands a stream on to the module that draws on it. */
  const allowed: Record<string, RegExp> = {
    'local-redis/redis-guardian.ts': /process\.stderr\.on\('error'/,
    'commands/role.ts': /process\.stdout\.write\(`\$\{JSON\.stringify\(\{ started: \{ port/,
    'commands/up.ts': /process\.stderr\.isTTY \?/,
    'commands/config.ts':
      /process\.stdin\.isTTY \|\| !process\.stderr\.isTTY|createInterface\(\{ input: process\.stdin, output: process\.stderr/,
    'commands/top.ts': /const out = process\.stdout$/,
    'crawl/command.ts': /displayOn\(process\.stderr,/,
    'demo/command.ts': /screenOn\(options\.json \? process\.stderr : process\.stdout\)/,
    'main.ts':
      /for \(const stream of \[process\.stdout, process\.stderr\]\)|process\.stderr\.write\(`decorum: Node \$\{wanted\}/,
  }
  const found: string[] = []
  for (const name of await readdir(src, { recursive: true })) {
    if (!name.endsWith('.ts') || name === 'terminal.ts') continue
    const text = await readFile(new URL(name, src), 'utf8')
    for (const line of text.split('\n')) {
      if (!/process\.std(out|err)|console\.|writeSync\(|\bout\.write\(|\bstream\.write\(/.test(line)) continue
      if (allowed[name]?.test(line) !== true) found.push(`${name}: ${line.trim()}`)
    }
  }
  expect(found).toEqual([])
})
