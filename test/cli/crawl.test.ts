/** `decorum crawl` from end to end: real processes, a Redis of its own, sites on loopback. */
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Outcome } from '@decorum/protocol'
import { describe, expect, test } from 'vitest'
import { decorum, folder, type Running, readOutcomes, site, startDecorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const lineOf = (outcome: Outcome): number => Number(outcome.meta?.line)
const byLine = (outcomes: Outcome[]): Record<string, string> =>
  Object.fromEntries(
    outcomes.map((outcome) => [`${outcome.id.includes('~') ? '→' : ''}${lineOf(outcome)}`, outcome.kind]),
  )

describe('a whole crawl', () => {
  test('every line gets one outcome, redirect targets too, and everything is on the disk', async () => {
    const dir = await folder()
    const [a, b] = [
      await site((request, response) => {
        if (request.url === '/robots.txt') response.end('User-agent: *\nDisallow: /private\n')
        else if (request.url === '/moved') response.writeHead(301, { location: '/private/new' }).end()
        else return false
        return true
      }),
      await site(),
    ]
    const lines = [
      '# a list',
      `${a.origin}/one`,
      `  ${a.origin}/private/x`,
      '',
      `${a.origin}/moved`,
      `${b.origin}/two#part`,
      'not a url',
      'javascript:alert(1)',
      `${b.origin}/${'x'.repeat(1_000_000)}`,
      'http://127.0.0.1:25/',
      `${b.origin}/two`,
    ]
    await writeFile(join(dir, 'urls.txt'), lines.join('\r\n'))
    const { code, stdout, stderr } = await decorum(['crawl', 'urls.txt', '--json'], { cwd: dir })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })

    const outcomes = await readOutcomes(join(dir, 'decorum-out/outcomes.ndjson'))
    expect(byLine(outcomes)).toEqual({
      2: 'fetched',
      3: 'disallowed',
      5: 'redirected',
      '→5': 'disallowed',
      6: 'fetched',
      7: 'invalid',
      8: 'invalid',
      9: 'invalid',
      10: 'failed',
      11: 'fetched',
    })
    expect(outcomes).toHaveLength(10)
    expect(a.asked).toEqual(['/one', '/moved'])
    expect(b.asked.sort()).toEqual(['/two', '/two'])

    const summary = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown>
    expect(summary).toMatchObject({ event: 'summary', ending: 'finished', total: 10, done: 10, left: 0 })
    expect(summary.byReason).toMatchObject({ 'invalid: url-too-long': 1, 'failed: blocked-port': 1, 'fetched: 200': 3 })

    const pages = join(dir, 'decorum-out/pages')
    const [warc = ''] = (await readdir(pages)).filter((name) => name.endsWith('.warc.gz'))
    const records = gunzipSync(await readFile(join(pages, warc))).toString('latin1')
    expect(records).toContain(`WARC-Target-URI: ${a.origin}/one`)
  })

  test('a list from standard input, without an archive, with plain progress for people; a second crawl into the same folder keeps the outcomes of the first; a comment behind a URL is none of it; lines that cannot be requested are counted, and the first ones named', async () => {
    const dir = await folder()
    const { origin, asked } = await site()
    const crawl = (...paths: string[]) =>
      decorum(['crawl', '-', '--out', 'here', '--no-archive'], {
        cwd: dir,
        input: paths.map((path) => (path.startsWith('\n') ? path.trim() : origin + path)).join('\n'),
      })
    const { code, stdout, stderr } = await crawl('/1', '/2')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Done: 2 URLs, each with its outcome, in .*\n {9}2 {2}fetched\n/)
    expect(stderr).toContain('no contact given: only addresses of DECORUM_ALLOW_ADDRESSES are visited (127.0.0.0/8)')
    const names = ['.lock-key', 'crawl.json', 'crawl.log', 'outcomes.ndjson', 'state', 'urls.txt']
    expect(await readdir(join(dir, 'here'))).toEqual(names)
    const again = await crawl('/3 # the third', '\nexample.com/x', '\n127.0.0.1:8080/y', '\njavascript:alert(1)', '\n?')
    expect(again.code).toBe(0)
    const outcomes = (await readdir(join(dir, 'here'))).filter((name) => name.startsWith('outcomes'))
    expect(outcomes).toHaveLength(2)
    expect(asked).toEqual(['/1', '/2', '/3'])
    expect(again.stderr).toContain(
      [
        '4 lines end as invalid; the first 3:',
        "  line 2: 'example.com/x' cannot be requested: not-a-url; a scheme is missing: write https://example.com/x",
        "  line 3: '127.0.0.1:8080/y' cannot be requested: not-a-url; a scheme is missing: write http://127.0.0.1:8080/y",
        "  line 4: 'javascript:alert(1)' cannot be requested: scheme-not-supported",
        '',
      ].join('\n'),
    )
  })

  test('an empty list, and one that is no text, are refused; of a file before anything is done', async () => {
    const dir = await folder()
    const { origin, asked } = await site()
    const crawl = (input: string | Buffer | undefined, file = '-') =>
      decorumHere(['crawl', file], { cwd: dir, ...(typeof input === 'string' ? { input } : {}) })
    expect(await crawl('# nothing\n\n')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('standard input: the list is empty'),
    })
    await writeFile(join(dir, 'empty.txt'), '\n')
    expect(await crawl(undefined, 'empty.txt')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('empty.txt: the list is empty'),
    })
    await writeFile(join(dir, 'latin1.txt'), Buffer.from(`${origin}/1\n${origin}/caf\xe9\n`, 'latin1'))
    expect(await crawl(undefined, 'latin1.txt')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('latin1.txt: line 2 is not in UTF-8'),
    })
    expect(asked).toEqual([])
  })
})

test('a list of which every URL is refused is not done: exit code 1, the reason, and what to do', async () => {
  const dir = await folder()
  const { origin, asked } = await site()
  await writeFile(join(dir, 'urls.txt'), `${origin}/a\n${origin}/b\n`)
  const env = { DECORUM_ALLOW_ADDRESSES: '', DECORUM_CONTACT: '' }
  const { code, stdout, stderr } = await decorum(['crawl', 'urls.txt'], { cwd: dir, env })
  expect([code, asked]).toEqual([1, []])
  expect(stdout).toMatch(
    /^Nothing was requested: 2 URLs, each with its outcome, .*\n +2 {2}refused\n +2 {2}no-contact\n/,
  )
  expect(stderr).toMatch(/decorum: every URL of urls.txt was refused: no-contact: .* Set DECORUM_CONTACT, .*\n$/)
})

test('a list of which no line is a URL ends with exit code 1, each line with its outcome', async () => {
  const dir = await folder()
  const { code, stderr } = await decorum(['crawl', '-', '--no-archive'], { cwd: dir, input: '<html>\n{"a":1}\n' })
  expect(code).toBe(1)
  expect(stderr).toContain('no line of standard input is a URL that can be requested')
  const outcomes = await readOutcomes(join(dir, 'decorum-out/outcomes.ndjson'))
  expect(outcomes.map(({ kind }) => kind)).toEqual(['invalid', 'invalid'])
})

describe('a crawl that is stopped', () => {
  /** A site that gives its first page at once, and says when it was asked. */
  async function slowList(dir: string): Promise<{ asked: string[]; origin: string }> {
    const { origin, asked } = await site()
    const urls = Array.from({ length: 30 }, (_, n) => `${origin}/${n}`)
    await writeFile(join(dir, 'urls.txt'), `${urls.join('\n')}\n`)
    return { origin, asked }
  }
  const SLOW = { DEFAULT_DELAY_MS: '300' }

  test('Ctrl-C says what is left and where; --resume does the rest by what was applied meanwhile, and no page is fetched twice', async () => {
    const dir = await folder()
    const { asked } = await slowList(dir)
    const env = { DEFAULT_DELAY_MS: '600' } // so that it is not done before the command is, on a busy machine either
    const first = startDecorum(['crawl', 'urls.txt', '--json'], { cwd: dir, env })
    await first.hears('"event":"progress"')
    await expect.poll(() => asked.length).toBeGreaterThan(2)
    const applied = await decorumHere(['config', 'apply', '-', '--yes'], { input: 'PAGE_SINK: none', env })
    expect(applied, applied.stderr).toMatchObject({ code: 0 })
    first.child.kill('SIGINT')
    const stopped = await first.result
    expect(stopped.code).toBe(3)
    const summary = JSON.parse(stopped.stdout.trim().split('\n').at(-1) ?? '') as {
      left: number
      done: number
      goOn: string
    }
    expect(summary.left + summary.done).toBe(30)
    expect(summary.left).toBeGreaterThan(0)
    expect(summary.goOn).toBe('decorum crawl --resume --out decorum-out')

    const refused = await decorumHere(['crawl', 'urls.txt'], { cwd: dir })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('holds an unfinished crawl') })

    const resumed = await decorum(['crawl', '--resume'], { cwd: dir, env })
    expect(resumed, resumed.stderr).toMatchObject({ code: 0 })
    expect(resumed.stdout).not.toMatch(/^ {2}pages /m) // no pages are kept, and none is missed
    const outcomes = await readOutcomes(join(dir, 'decorum-out/outcomes.ndjson'))
    expect(outcomes.map(lineOf).sort((x, y) => x - y)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
    expect(outcomes.at(-1)).not.toHaveProperty('archive')
    expect(asked.length).toBe(30)

    const again = await decorumHere(['crawl', '--resume'], { cwd: dir })
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no unfinished crawl') })
  })

  test('Ctrl-C before the list has been read: all of it is left', async () => {
    const dir = await folder()
    const { asked } = await slowList(dir)
    const running = startDecorum(['crawl', 'urls.txt'], { cwd: dir, env: SLOW })
    await expect.poll(() => existsSync(join(dir, 'decorum-out/crawl.log'))).toBe(true) // Redis is being started
    running.child.kill('SIGINT')
    const { code, stdout } = await running.result
    expect([code, asked]).toEqual([3, []])
    expect(stdout).toMatch(/^Stopped: 0 of 30 URLs have their outcome, [\s\S]*\n {2}30 left {2}stored in /)
  })

  test('killed outright, it is resumed as well, by the settings with which it began; its Redis killed in mid-crawl: the crawl goes on and loses nothing', async () => {
    const dir = await folder()
    const { asked } = await slowList(dir)
    const env = { ...SLOW, LEASE_MS: '2000', FETCH_DEADLINE_MS: '1000', QUARANTINE_MS: '500' }
    const first = startDecorum(['crawl', 'urls.txt'], { cwd: dir, env })
    await expect.poll(() => asked.length).toBeGreaterThan(2)
    first.child.kill('SIGKILL')
    await first.result
    // Its Redis ends by itself, and the folder is free again. By the defaults no page of this machine would be fetched
    const nothing = Object.fromEntries([...Object.keys(env), 'DECORUM_ALLOW_ADDRESSES'].map((name) => [name, '']))
    const resume = async (): Promise<Running> => {
      const running = startDecorum(['crawl', '--resume', '--json'], { cwd: dir, env: nothing })
      const works = await running.hears('"event":"progress"').then(
        () => true,
        () => false,
      )
      return works ? running : resume()
    }
    const resumed = await resume()
    const before = asked.length
    await expect.poll(() => asked.length).toBeGreaterThan(before)
    const note = JSON.parse(await readFile(join(dir, 'decorum-out/state/redis.json'), 'utf8')) as { pid: number }
    process.kill(note.pid, 'SIGKILL')
    const { code, stdout, stderr } = await resumed.result
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('was started again')
    const outcomes = await readOutcomes(join(dir, 'decorum-out/outcomes.ndjson'))
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['fetched']))
    expect(outcomes.map(lineOf).sort((x, y) => x - y)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
  })

  test('--max-pages stops it with exit code 3', async () => {
    const dir = await folder()
    await slowList(dir)
    const { code, stdout } = await decorum(['crawl', 'urls.txt', '--max-pages', '3'], { cwd: dir, env: SLOW })
    expect(code).toBe(3)
    expect(stdout).toMatch(/^Stopped at the limit: \d+ of 30 URLs have their outcome/)
    expect(stdout).toMatch(/\d+ left {2}stored in decorum-out\/state\n {2}go on {5}decorum crawl --resume/)
  })
})
