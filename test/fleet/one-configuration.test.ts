/** One fleet, one configuration: real processes, recording sites, the command line. */
import { setTimeout as sleep } from 'node:timers/promises'
import { connectForConfig, readCurrent, readHistory } from '@decorum/config/fleet-config'
import { keysOf } from '@decorum/ledger'
import { partitionTags } from '@decorum/protocol'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { type Fleet, startFleet } from '../../packages/cli/src/fleet.ts'
import { decorum, type Result, type RunOptions, startDecorum } from '../cli/decorum.ts'
import { decorumHere } from '../cli/decorum-here.ts'
import { expectPolite, fleetEnv, type Journey, pagesOf, startJourney } from '../journey/fleet.ts'
import { startRedis } from '../support/redis.ts'

let journey: Journey | undefined
afterEach(async () => {
  await journey?.close()
  journey = undefined
})

async function ownRedis(): Promise<string> {
  const redis = await startRedis({ appendonly: true })
  onTestFinished(() => redis.stop())
  return redis.url
}

/** `decorum config …` on this Redis, without any setting of the fleet in its environment; in this process, or by the real program. */
const config = (
  url: string,
  args: string[],
  { run = decorumHere, input }: { run?: typeof decorumHere } & Pick<RunOptions, 'input'> = {},
): Promise<Result> =>
  run(['config', ...args], { input, env: { REDIS_URL: url, DEFAULT_DELAY_MS: '', DECORUM_ALLOW_ADDRESSES: '' } })
const apply = (url: string, yaml: string, ...args: string[]): Promise<Result> =>
  config(url, ['apply', '-', '--yes', ...args], { input: yaml })

async function start(env: NodeJS.ProcessEnv, gateways: number, fetchers: number): Promise<Fleet> {
  const fleet = await startFleet({ env, gateways, fetchers })
  onTestFinished(async () => void (await fleet.stop(5_000)))
  return fleet
}

async function inForce(url: string) {
  const redis = await connectForConfig(url)
  return readCurrent(redis).finally(() => redis.disconnect())
}

const KEPT = { FETCH_DEADLINE_MS: '1500', LEASE_MS: '2500', QUARANTINE_MS: '500' }

test('a second gateway with a shorter delay than the fleet does not start, and is told both values', async () => {
  const url = await ownRedis()
  const env = { REDIS_URL: url, LOG_LEVEL: 'warn', ...KEPT }
  await start({ ...process.env, ...env, DEFAULT_DELAY_MS: '1000' }, 1, 0)
  const second = await decorum(['gateway'], { env: { ...env, DEFAULT_DELAY_MS: '50', DECORUM_ALLOW_ADDRESSES: '' } })
  expect(second.code).toBe(2)
  expect(second.stderr).toContain("DEFAULT_DELAY_MS: it is 50 here, but 1000 in the fleet's configuration (version 1)")
  expect(second.stderr).toContain("'decorum config apply'")
  const another = await decorum(['fetcher'], {
    env: { ...env, LEASE_MS: '9000', DEFAULT_DELAY_MS: '', DECORUM_ALLOW_ADDRESSES: '' },
  })
  expect(another, 'an identity setting: no start, so no lease').toMatchObject({ code: 2 })
  expect(another.stderr).toContain('LEASE_MS: it is 9000 here, but 2500')
})

test('a fetcher that is told nothing but its Redis fetches as the fleet does', async () => {
  const url = await ownRedis()
  journey = await startJourney({
    redisUrl: url,
    gateways: 1,
    fetchers: 0,
    sites: [{ name: 'site', robots: { body: '' } }],
  })
  const bare = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !(name in fleetEnv(url)) || name === 'PATH'),
  )
  await start({ ...bare, REDIS_URL: url, LOG_LEVEL: 'warn' }, 0, 1)
  const candidates = pagesOf(journey.web, 4)
  await journey.frontier.enqueue(candidates)
  await journey.outcomesOf(4)
  expect([...journey.outcomes.values()].flat().map(({ kind }) => kind)).toEqual([
    'fetched',
    'fetched',
    'fetched',
    'fetched',
  ])
  await expectPolite(journey, candidates)
})

const [SHORT, LONG] = [400, 1_500]

test('a longer delay that is applied while a fleet crawls holds at once; rolled back, the next delay is the old one', async () => {
  const url = await ownRedis()
  const sites = Array.from({ length: 4 }, (_, n) => ({ name: `site-${n}`, robots: { body: '' } }))
  journey = await startJourney({
    redisUrl: url,
    gateways: 2,
    fetchers: 2,
    sites,
    env: { DEFAULT_DELAY_MS: String(SHORT) },
  })
  const candidates = pagesOf(journey.web, 24)
  await journey.frontier.enqueue(candidates)
  await journey.outcomesOf(12)
  const applied = await apply(url, `DEFAULT_DELAY_MS: ${LONG}`, '--reason', 'a site asked')
  expect(applied, applied.stderr).toMatchObject({ code: 0 })
  // every process has heard of it a second after the command has ended, whatever it was doing
  const from = Date.now() + 1_000
  await sleep(1_000)
  await journey.outcomesOf(journey.outcomes.size + 12)
  const until = Date.now()
  expect((await config(url, ['rollback', '--yes'])).code).toBe(0)
  await journey.outcomesOf(candidates.length)

  await expectPolite(journey, candidates)
  const { requests } = await journey.web.evidence()
  const gaps = Object.values(journey.web.origins).flatMap((origin) => {
    const ofSite = requests.filter((one) => one.origin === origin).sort((one, other) => one.start - other.start)
    // What a site heard late may have come earlier, and counts only where that makes no difference.
    return ofSite.slice(1).map(({ start, resolution = 0 }, n) => ({
      start,
      latest: start + resolution,
      ms: start + resolution - (ofSite[n]?.end ?? 0),
    }))
  })
  const during = gaps.filter(({ start, latest }) => start > from && latest < until)
  expect(during.length).toBeGreaterThan(4)
  expect(
    during.filter(({ ms }) => ms < LONG),
    'shorter than the longer delay',
  ).toEqual([])
  const afterwards = gaps.filter(({ start }) => start > until + 2 * LONG)
  expect(afterwards.filter(({ ms }) => ms < LONG).length, 'delays that became shorter again').toBeGreaterThan(4)
  expect(Math.min(...gaps.map(({ ms }) => ms))).toBeGreaterThanOrEqual(SHORT)
})

test.for<[string, string]>([
  ['no YAML', 'DEFAULT_DELAY_MS: [1'],
  ['a key twice', 'MAX_ATTEMPTS: 1\nMAX_ATTEMPTS: 2'],
  ['a list', '- 1'],
  ['nothing', ''],
  ['a misspelt setting', 'DEFAULT_DELAYMS: 5'],
  ['a wrong value', 'DEFAULT_DELAY_MS: soon'],
  ['a relation that does not hold', 'LEASE_MS: 5'],
  [
    'an alias bomb',
    `a: &a [x]\n${Array.from({ length: 9 }, (_, n) => `${'bcdefghij'[n]}: &${'bcdefghij'[n]} [${Array(9).fill(`*${'abcdefghi'[n]}`).join(', ')}]`).join('\n')}`,
  ],
])('%s changes nothing and is refused with a sentence', async ([, text]) => {
  const url = await ownRedis()
  expect((await apply(url, 'DEFAULT_DELAY_MS: 700')).code).toBe(0)
  const refused = await apply(url, text)
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/^decorum: \S/)
  expect(refused.stderr).not.toContain('    at ')
  expect(await inForce(url)).toMatchObject({ version: 1, values: { DEFAULT_DELAY_MS: 700 } })
})

test('of two commands that apply at once one wins, and the other is told; nothing is merged', async () => {
  const url = await ownRedis()
  await apply(url, '{}')
  const results = await Promise.all(
    ['2', '3', '4'].map((n) => config(url, ['apply', '-', '--yes'], { input: `MAX_ATTEMPTS: ${n}`, run: decorum })),
  )
  const current = await inForce(url)
  // they may have come one after the other after all: each version that was written is one command that was told so
  expect(results.filter(({ code }) => code === 0)).toHaveLength((current?.version ?? 0) - 1)
  for (const { code, stderr } of results)
    if (code !== 0) expect(stderr).toContain('meanwhile, and this change was made from version')
})

test('nobody is asked where nobody can answer: without --yes nothing is applied', async () => {
  const url = await ownRedis()
  await apply(url, '{}')
  const asked = await config(url, ['apply', '-'], { input: 'MAX_ATTEMPTS: 2', run: decorum })
  expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('MAX_ATTEMPTS: 5 → 2 (live)') })
  expect(asked.stderr).toContain('--yes applies it')
  expect(await inForce(url)).toMatchObject({ version: 1 })
})

test('who, when and why are kept: show, history, rollback', async () => {
  const url = await ownRedis()
  expect((await config(url, ['show'])).stdout).toContain('there is no configuration yet')
  await apply(url, 'DEFAULT_DELAY_MS: 700', '--by', 'ops', '--reason', 'the first')
  await apply(url, 'DEFAULT_DELAY_MS: 800\nMAX_ATTEMPTS: 2', '--by', 'ops')
  const shown = await config(url, ['show'])
  expect(shown.stdout).toContain('DEFAULT_DELAY_MS: 800')
  expect((await apply(url, shown.stdout)).stdout, 'what is shown can be applied').toContain('nothing changes')
  const back = await config(url, ['rollback', '1', '--yes', '--reason', 'too slow'])
  expect(back, back.stderr).toMatchObject({ code: 0 })
  expect(await inForce(url)).toMatchObject({
    version: 3,
    via: 'rollback',
    reason: 'back to version 1: too slow',
    values: { DEFAULT_DELAY_MS: 700, MAX_ATTEMPTS: 5 },
  })
  const history = await config(url, ['history'])
  expect(history.stdout).toMatch(/version 3, .*back to version 1: too slow\n[\s\S]*version 1, \S+, by ops: the first/)
  expect((await config(url, ['rollback', '9', '--yes'])).stderr).toContain('version 9 is not kept')
  const json = (await config(url, ['history', '--json'])).stdout.trim().split('\n')
  expect(json.map((line) => (JSON.parse(line) as { version: number }).version)).toEqual([3, 2, 1])
})

test('`decorum status fleet` shows every process with its version, and what waits until it is started again', async () => {
  const url = await ownRedis()
  await start(fleetEnv(url), 1, 1)
  expect((await apply(url, 'DECORUM_ALLOW_PORTS: [6000]\nMAX_ATTEMPTS: 3')).code).toBe(0)
  const seen = async () => (await decorumHere(['status', 'fleet', '--json'], { env: { REDIS_URL: url } })).stdout
  await expect
    .poll(async () => JSON.parse(await seen()) as object)
    .toMatchObject({
      config: 3,
      members: expect.toSatisfy(
        (members: { role: string; about: { config: number; pending: string[]; keepsPages?: boolean } }[]) => {
          const [fetcher, gateway] = members.sort((one, other) => (one.role < other.role ? -1 : 1))
          const isFetcher =
            fetcher?.about.pending.join() === 'DECORUM_ALLOW_PORTS' && fetcher.about.keepsPages === false
          return members.length === 2 && isFetcher && gateway?.about.config === 3 && gateway.about.pending.length === 0
        },
      ),
    })
  const { stdout } = await decorumHere(['status', 'fleet'], { env: { REDIS_URL: url } })
  expect(stdout).toMatch(/configuration version 3\n/)
  expect(stdout).toMatch(
    /fetcher \d+ on \S+, Decorum 0\.2\.0 \(commit [0-9a-f]{12}\), 100 slots, keeps no pages, configuration 3; applied at its next start: .*DECORUM_ALLOW_PORTS/,
  )
})

test('an identity setting changes only while nobody is running', async () => {
  const url = await ownRedis()
  const fleet = await start(fleetEnv(url), 1, 0)
  const refused = await apply(url, 'LEASE_MS: 4000')
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot share lanes') })
  await fleet.stop(5_000)
  expect((await apply(url, 'LEASE_MS: 4000')).code).toBe(0)
})

test('a Redis that loses everything is told the configuration again by who runs', async () => {
  const url = await ownRedis()
  await start(fleetEnv(url), 1, 0)
  await apply(url, 'MAX_ATTEMPTS: 2')
  const redis = await connectForConfig(url)
  onTestFinished(() => redis.disconnect())
  await expect.poll(async () => (await readCurrent(redis))?.version).toBe(2)
  const shown = async () => (await decorumHere(['status', 'fleet', '--json'], { env: { REDIS_URL: url } })).stdout
  await expect // the gateway has heard of it
    .poll(async () => JSON.parse(await shown()) as object)
    .toMatchObject({ members: [{ about: { config: 2 } }] })
  await redis.flushall()
  await expect.poll(() => readCurrent(redis)).toMatchObject({ version: 2, values: { MAX_ATTEMPTS: 2 }, via: 'memory' })
  expect(await readHistory(redis)).toHaveLength(1)
  const { epoch } = keysOf(partitionTags(1)[0] ?? '')
  await expect
    .poll(() => redis.hget(epoch, 'leastDelays'), { message: 'and the ledger its least delays' })
    .toMatch(/^2;/)
})

test('`decorum up` with a delay, stopped, and started without it: the environment of a whole fleet is its configuration', async () => {
  const run = async (env: Record<string, string>): Promise<string> => {
    const up = startDecorum(['up', '--json', '--port', '0'], { env: { DEFAULT_DELAY_MS: '', ...env } })
    await up.hears('"event":"up"')
    const shown = await decorumHere(['config', 'show'], { env: { DEFAULT_DELAY_MS: '' } })
    up.child.kill('SIGTERM')
    await up.result
    return shown.stdout
  }
  expect(await run({ DEFAULT_DELAY_MS: '70' })).toContain('DEFAULT_DELAY_MS: 70')
  expect(await run({}), 'what an earlier environment said is not what this one says').toContain(
    'DEFAULT_DELAY_MS: 1000',
  )
})
