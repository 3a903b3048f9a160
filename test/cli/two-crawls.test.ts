/** Commands of one user on one machine are one visitor: crawls beside each other, beside `up`, and when one is killed. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { agentsOf, judgeRecord } from '@decorum/audit'
import { expect, onTestFailed, onTestFinished, test } from 'vitest'
import { LONG_LEASES } from '../journey/fleet.ts'
import { splitAgainAsked } from '../storm/again-asked.ts'
import { type RecordedWeb, recordedWeb } from '../support/origins/index.ts'
import { decorum, folder, type Running, readOutcomes, startDecorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const DELAY_MS = 300
const AGENTS = JSON.stringify([
  { name: 'twobot', userAgent: 'Mozilla/5.0 (compatible; twobot/1.0; +https://example.com/bot)' },
])
/** A lease that is lost comes back within seconds. */
const SHORT = { FETCH_DEADLINE_MS: '1500', LEASE_MS: '2500' }
const TIMES = { ...LONG_LEASES, QUARANTINE_MS: '500', LOG_LEVEL: 'warn' }

type Summary = { done: number }
type Ground = { web: RecordedWeb; env: Record<string, string>; list(name: string, pages: number): Promise<Crawl> }
type Crawl = { dir: string; file: string; urls: string[]; outcomes(): Promise<string[]> }

/** Five recording sites, a user with nothing running, and lists of URLs of all five. */
async function ground(more: Record<string, string> = {}): Promise<Ground> {
  const web = await recordedWeb(
    Array.from({ length: 5 }, (_, n) => ({
      name: `site-${n}`,
      robots: { body: 'User-agent: *\nDisallow: /private/' },
    })),
  )
  onTestFinished(() => web.close())
  const env = {
    XDG_DATA_HOME: await folder(),
    DEFAULT_DELAY_MS: String(DELAY_MS),
    DECORUM_AGENTS: AGENTS,
    ...TIMES,
    ...more,
  }
  return {
    web,
    env,
    async list(name, pages) {
      const dir = await folder()
      const urls = Array.from({ length: pages }, (_, n) =>
        Object.values(web.origins).map((origin) => `${origin}/${name}-${n}`),
      ).flat()
      const file = join(dir, 'urls.txt')
      await writeFile(file, `${urls.join('\n')}\n`)
      const outcomes = async (): Promise<string[]> =>
        (await readOutcomes(join(dir, 'decorum-out/outcomes.ndjson'))).map(({ url, kind }) => `${kind} ${url}`).sort()
      return { dir, file, urls, outcomes }
    },
  }
}

const start = ({ env }: Ground, { dir }: Crawl): Running =>
  startDecorum(['crawl', 'urls.txt', '--json'], { cwd: dir, env })
const allFetched = ({ urls }: Crawl): string[] => urls.map((url) => `fetched ${url}`).sort()

async function audit({ web }: Ground) {
  return judgeRecord(await web.evidence(), {
    agents: agentsOf({ agent: 'twobot', profile: 'decorum', minDelayMs: DELAY_MS, maxDelayMs: 10_000 }),
    robotsRetryMs: 1_000,
  })
}

test('two crawls started at the same instant are one fleet and one crawler to every site, and each gets only its own outcomes', async () => {
  const here = await ground()
  const [a, b] = [await here.list('a', 8), await here.list('b', 12)]
  const results = await Promise.all([start(here, a).result, start(here, b).result])
  expect(results.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ])
  expect(results.filter(({ stdout }) => stdout.includes('"event":"joined"'))).toHaveLength(1)
  expect(await a.outcomes()).toEqual(allFetched(a))
  expect(await b.outcomes()).toEqual(allFetched(b))
  const counted = results.map(({ stdout }) => (JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Summary).done)
  expect(counted, 'each counts its own URLs alone').toEqual([a.urls.length, b.urls.length])
  expect(await audit(here)).toMatchObject({ total: 0, examples: [], robotsFetches: { all: 5, most: 1 } })
  // pages too, whichever fetcher got them
  expect(await pagesIn(a)).toEqual(a.urls.toSorted())
  expect(await pagesIn(b)).toEqual(b.urls.toSorted())
  expect(await noFleet(here)).toBe(true)
})

test('the crawl that started the fleet is killed in the middle: the other one completes, and both are one crawler to every site', async () => {
  const here = await ground(SHORT)
  const [starter, other] = [await here.list('a', 40), await here.list('b', 20)]
  const first = start(here, starter)
  await first.hears('"event":"progress"')
  const second = start(here, other)
  onTestFailed(() => console.log(`${first.said()}\n\n${second.said()}`))
  // What is killed before it has begun leaves nothing to resume, and what has not joined yet would start a fleet of its own.
  for (const event of ['joined', 'progress']) await second.hears(`"event":"${event}"`)
  first.child.kill('SIGKILL')
  expect((await second.result).code).toBe(0)
  expect(await other.outcomes()).toEqual(allFetched(other))
  const resumed = await decorum(['crawl', '--resume', '--json'], { cwd: starter.dir, env: here.env })
  expect(resumed, resumed.stderr).toMatchObject({ code: 0 })
  expect(await starter.outcomes()).toEqual(allFetched(starter))
  expect(splitAgainAsked(await audit(here)).violations).toEqual([])
})

test('a crawl with other settings than the running fleet ends with a message that names them, and makes no request', async () => {
  const here = await ground()
  const [a, b] = [await here.list('a', 300), await here.list('b', 1)]
  const first = start(here, a)
  await first.hears('"event":"progress"')
  const other = await decorumHere(['crawl', 'urls.txt'], { cwd: b.dir, env: { ...here.env, DEFAULT_DELAY_MS: '20' } })
  expect(other).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/DEFAULT_DELAY_MS: it is 20 here, but 300 in the fleet's configuration/),
  })
  const up = await decorum(['up', '--port', '0'], { env: here.env })
  expect(up).toMatchObject({ code: 1, stderr: expect.stringContaining('a fleet runs here already') })
  const twice = await decorumHere(['crawl', '--resume'], { cwd: a.dir, env: here.env })
  expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('another crawl is at work in') })
  first.child.kill('SIGINT')
  expect((await first.result).code).toBe(3)
  expect((await audit(here)).requests).toBeGreaterThan(0)
  expect(await readFile(here.web.record, 'utf8')).not.toContain('/b-')
})

test('a crawl beside `up` works on its Redis, and what `up` was given stays its own; `check`: what the fleet knows is not asked for again, what it does not know is asked in turn', async () => {
  const here = await ground()
  const [a, b] = [await here.list('a', 4), await here.list('b', 4)]
  const [known, unknown] = [Object.values(here.web.origins)[0], Object.values(here.web.origins)[4]]
  const left = ({ urls }: Crawl): string[] => urls.filter((url) => !url.startsWith(`${unknown}/`))
  for (const one of [a, b]) await writeFile(one.file, `${left(one).join('\n')}\n`)
  const up = startDecorum(['up', '--json', '--port', '0'], { env: here.env })
  await up.hears('"event":"up"')
  const configuration = async () => (await decorumHere(['config', 'history'], { env: here.env })).stdout
  const before = await configuration()
  await decorumHere(['outcomes'], { env: here.env }) // a group that is there before keeps what others read
  await decorumHere(['enqueue', a.file], { env: here.env })
  const { code, stdout } = await start(here, b).result
  expect([code, stdout.includes('"event":"joined"')]).toEqual([0, true])
  expect(await configuration(), 'the configuration of the fleet is as it was').toBe(before)
  expect(await b.outcomes()).toEqual(
    left(b)
      .map((url) => `fetched ${url}`)
      .sort(),
  )
  const check = async (url: string) => {
    const { code, stdout, stderr } = await decorum(['check', url, '--json'], { env: here.env })
    expect([code, stderr]).toEqual([1, '']) // forbidden
    return JSON.parse(stdout) as { asked: { by: string }; verdicts: { allowed: boolean }[] }
  }
  const asked = await Promise.all([known, unknown, unknown, unknown].map((origin) => check(`${origin}/private/x`)))
  expect(asked.map(({ verdicts }) => verdicts[0]?.allowed)).toEqual([false, false, false, false])
  expect(asked[0]?.asked.by).toBe('known')
  const nobody = 'http://127.40.0.77:1'
  const other = await decorumHere(['check', `${nobody}/x`], { env: { ...here.env, DEFAULT_DELAY_MS: '20' } })
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("but 300 in the fleet's configuration") })
  await decorumHere(['origin', nobody, '--pause', '--reason', 'a test'], { env: here.env })
  const paused = await decorumHere(['check', `${nobody}/x`], { env: here.env })
  expect(paused).toMatchObject({ code: 1, stderr: expect.stringContaining('did not come within 60 s') })
  const mine: string[] = []
  await expect
    .poll(async () => {
      mine.push((await decorumHere(['outcomes'], { env: here.env })).stdout)
      return left(a).every((url) => mine.some((text) => text.includes(url)))
    })
    .toBe(true)
  up.child.kill('SIGTERM')
  expect((await up.result).code).toBe(0)
  expect(await audit(here)).toMatchObject({ examples: [], robotsFetches: { all: 5, most: 1 } })
})

/** URLs of the pages in the archive of a crawl, from whole files only. */
async function pagesIn({ dir }: Crawl): Promise<string[]> {
  const pages = join(dir, 'decorum-out/pages')
  const files = (await readdir(pages)).filter((name) => name.endsWith('.warc.gz'))
  const texts = await Promise.all(
    files.map(async (name) => gunzipSync(await readFile(join(pages, name))).toString('latin1')),
  )
  const responses = texts
    .flatMap((text) => text.split('WARC/1.1\r\n'))
    .filter((one) => one.includes('WARC-Type: response'))
  const urls = responses.map((one) => /WARC-Target-URI: (\S+)/.exec(one)?.[1] ?? '')
  return urls.filter((url) => !url.endsWith('/robots.txt')).sort()
}

/** The embedded Redis ends with the last who needs it. */
async function noFleet({ env }: Ground): Promise<boolean> {
  await expect.poll(async () => (await decorumHere(['outcomes'], { env })).stderr).toContain('no fleet')
  return true
}
