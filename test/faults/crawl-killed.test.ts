/** `decorum crawl`, killed outright at random moments and resumed each time: every line and every redirect's target once in the file. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { folder, readOutcomes, site, startDecorum } from '../cli/decorum.ts'
import { diceOf } from '../storm/dice.ts'
import { redisForTest } from '../support/redis.ts'

const LINES = 48
const SITES = 4
const KILLS = 4
const redis = await redisForTest()

test('killed four times, a crawl ends with each line and each target once in its file', async () => {
  const seed = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000)
  console.log(`DECORUM_SEED=${seed}`)
  const dice = diceOf(seed)
  const dir = await folder()
  let asked = 0
  let heard = (): void => undefined
  const web = await Promise.all(
    Array.from({ length: SITES }, () =>
      site(({ url = '' }, response) => {
        if (url === '/robots.txt') return false
        asked++
        heard()
        if (!url.startsWith('/moved')) return false
        response.writeHead(301, { location: url.replace('moved', 'here') }).end()
        return true
      }),
    ),
  )
  const isMoved = (line: number): boolean => line % 3 === 0
  const lines = Array.from({ length: LINES }, (_, n) => n + 1)
  const urls = lines.map((n) => `${web[n % SITES]?.origin}/${isMoved(n) ? 'moved' : 'page'}-${n}`)
  await writeFile(join(dir, 'urls.txt'), `${urls.join('\n')}\n`)
  const env = {
    REDIS_URL: redis.url,
    DEFAULT_DELAY_MS: '150',
    LEASE_MS: '1500',
    FETCH_DEADLINE_MS: '1000',
    QUARANTINE_MS: '300',
    RESERVE_MS: '1000',
  }
  const run = (more: string[]) => startDecorum(['crawl', ...more, '--no-archive', '--json'], { cwd: dir, env })

  let kills = 0
  let args = ['urls.txt']
  let done = false
  while (kills < KILLS && !done) {
    const crawl = run(args)
    const until = asked + dice.whole(0, 14)
    const due = new Promise<void>((resolve) => {
      heard = () => asked > until && resolve()
    })
    const ended = crawl.result.then(({ code }) => {
      done = code === 0
      expect(code === 0 || code === null, crawl.said()).toBe(true)
    })
    await Promise.race([due, ended])
    await sleep(dice.between(0, 400))
    if (crawl.child.kill('SIGKILL')) kills++
    await ended
    args = ['--resume']
  }
  if (!done) {
    const { code, stderr } = await run(['--resume']).result
    expect(code, stderr).toBe(0)
  }
  expect(kills).toBeGreaterThan(0)

  const file = join(dir, 'decorum-out/outcomes.ndjson')
  expect(await readFile(file, 'utf8')).toMatch(/\n$/)
  const outcomes = await readOutcomes(file)
  const found = outcomes.map(({ id, meta }) => `${id.includes('~') ? 'target of ' : ''}${Number(meta?.line)}`)
  const targets = lines.filter(isMoved).map((n) => `target of ${n}`)
  expect(found.sort()).toEqual([...lines.map(String), ...targets].sort())
})
