/** Roles that start while Redis goes away, at each of their connections in turn: configuration, ledger, and those for queues, keys, wake-ups. */
import { main as startConsole } from '@decorum/console'
import { main as startFetcher } from '@decorum/fetcher'
import { main as startGateway } from '@decorum/gateway'
import { LedgerUnavailableError } from '@decorum/ledger'
import { main as startPermits } from '@decorum/permits'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openLink } from '../storm/link.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const ROLES = { gateway: startGateway, fetcher: startFetcher, console: startConsole, permits: startPermits }

/** Starts a role whose connections are all cut at the n-th of them, and new ones too. */
async function startCutOff(main: (typeof ROLES)['gateway'], at: number) {
  const link = await openLink(redis.port)
  link.onConnection = (count) => {
    if (count === at) link.hurt('away')
  }
  const env = {
    REDIS_URL: `redis://127.0.0.1:${link.port}`,
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    FETCH_PROCESSES: '0',
    LOG_LEVEL: 'silent',
    PORT: '0',
  }
  return { link, started: await main(env).catch((error: Error) => error) }
}

describe.each(Object.entries(ROLES))('%s', (_, main) => {
  test.each([1, 2])('without Redis at connection %i it does not start, and says so', async (at) => {
    const { link, started } = await startCutOff(main, at)
    onTestFinished(() => link.close())
    expect(started).toBeInstanceOf(LedgerUnavailableError)
  })

  test('Redis goes away at connection 3: it is ready when Redis is back', async () => {
    const { link, started } = await startCutOff(main, 3)
    onTestFinished(() => link.close())
    if (started instanceof Error) throw started
    onTestFinished(() => started.stop())
    link.heal()
    const isReady = (): Promise<boolean> => fetch(`http://127.0.0.1:${started.port}/readyz`).then(({ ok }) => ok)
    await expect.poll(isReady).toBe(true)
  })
})

test('permits answer 503 while Redis has never answered since the start, and grant when it is back', async () => {
  const { link, started } = await startCutOff(startPermits, 3)
  onTestFinished(() => link.close())
  if (started instanceof Error) throw started
  onTestFinished(() => started.stop())
  const base = `http://127.0.0.1:${started.port}`
  const ask = (path: string): Promise<Response> =>
    fetch(base + path, {
      method: 'POST',
      body: '{"url":"http://127.0.0.1:8123/"}',
      headers: { 'content-type': 'application/json' },
    })
  for (const path of ['/v1/permits', '/v1/permits/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/completion']) {
    const answer = await ask(path)
    expect(answer.status, path).toBe(503)
    expect(await answer.json()).toMatchObject({ type: 'ledger-away' })
  }
  link.heal()
  await expect.poll(() => ask('/v1/permits').then(({ status }) => status)).not.toBe(503)
})
