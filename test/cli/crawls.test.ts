/** `decorum crawls`: list, pause, set, cancel, forget; and what is wrong is said. */
import { openFrontier } from '@decorum/client'
import { openLedger } from '@decorum/ledger'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { decorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
const env = { REDIS_URL: redis.url }
const crawls = async (...words: string[]) => {
  const run = words[0] === 'cancel' ? decorum : decorumHere // the real program for one of them
  const { code, stdout, stderr } = await run(['crawls', ...words, '--json'], { env })
  return { code, stderr, told: stdout.trim() === '' ? undefined : JSON.parse(stdout) }
}

test('a crawl is listed before its first candidate, changed, cancelled and forgotten', async () => {
  const ledger = await openLedger({ redis: redis.url, partitions: 1 })
  onTestFinished(() => ledger.close())
  const frontier = await openFrontier({ redis: redis.url, crawl: 'news' })
  onTestFinished(() => frontier.close())
  for await (const _ of frontier.outcomes({ group: 'reader', wait: false })); // makes the group
  expect((await crawls('list')).told.crawls.map(({ name }: { name: string }) => name)).toEqual(['default', 'news'])
  expect((await crawls('set', 'news', '--weight', '5', '--reason', 'it is urgent')).told.record).toMatchObject({
    weight: 5,
    reason: 'it is urgent',
  })
  const set = ['--stored', '100', '--redirects', 'report', '--accept', 'text/html, text/plain', '--for', '1h']
  expect((await crawls('set', 'news', ...set)).told.record).toMatchObject({
    limits: { stored: 100 },
    settings: { redirects: 'report', accept: ['text/html', 'text/plain'] },
    expiresAt: expect.any(Number),
  })
  expect((await crawls('set', 'news', '--stored', 'none', '--for', 'none')).told.record).not.toHaveProperty('limits')
  const paused = await crawls('pause', 'news')
  expect([paused.told.record.state, paused.stderr]).toEqual(['paused', ''])
  expect((await crawls('resume', 'news')).told.record.state).toBe('running')
  expect((await crawls('cancel', 'news')).told.record.state).toBe('cancelled')
  expect(await crawls('resume', 'news')).toMatchObject({ code: 2, stderr: expect.stringContaining('was cancelled') })
  expect(await crawls('forget', 'news')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('status readers --crawl'),
  })
  await frontier.removeGroup('reader')
  expect((await crawls('forget', 'news')).told).toEqual({ name: 'news', forgotten: true })
  expect((await crawls()).told.crawls.length).toBe(1)
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  expect(await raw.keys('*news*')).toEqual([])
})

test.for(['pause', 'resume', 'cancel'])('%s of a name that nobody has used makes no crawl', async (word) => {
  expect(await crawls(word, 'nwes')).toEqual({
    code: 1,
    stderr: "decorum: there is no crawl 'nwes': 'decorum crawls' lists those that there are\n",
    told: undefined,
  })
  expect((await crawls()).told.crawls.length).toBe(1)
})

test('a crawl that was set before its first URL is there, and can be paused', async () => {
  expect((await crawls('set', 'soon', '--stored', '5')).code).toBe(0)
  expect((await crawls('pause', 'soon')).told.record).toMatchObject({ state: 'paused', limits: { stored: 5 } })
  expect((await crawls('forget', 'soon')).told).toEqual({ name: 'soon', forgotten: true })
})

test('what is wrong is refused with a sentence, and nothing is changed', async () => {
  for (const [words, sentence] of [
    [['set', 'a'], /no setting was given/],
    [['cancel', 'default'], /candidates that name none/],
    [['forget', 'nowhere'], /there is no crawl/],
  ] as const) {
    const { code, stderr } = await crawls(...words)
    expect(code).not.toBe(0)
    expect(stderr).toMatch(sentence)
  }
  expect((await crawls()).told.crawls.length).toBe(1)
})
