/** The example of a frontier in Python: killed at the worst moments and started again, it has each outcome once. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { startFleet } from '@decorum/cli'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { folder, site } from '../cli/decorum.ts'
import { redisForTest } from '../support/redis.ts'

const FRONTIER = fileURLToPath(new URL('../../integrations/python/frontier.py', import.meta.url))
const python = hasPython()
if (!python) console.warn('skipped: no python3 on PATH (install it to run the example frontier)')

function hasPython(): boolean {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const URLS = 250
type Answer = { outcomes?: { id: string; outcome: { id: string } }[] }
/** What has just happened between frontier and console. */
type Moment = 'part-stored' | 'outcomes-answered' | 'ack-asked' | 'ack-done'

/** Stands between the frontier and the console. @param at  true: the frontier has been killed */
async function between(consolePort: number, at: (moment: Moment, ids: string[]) => boolean): Promise<string> {
  /** delivery → candidate */
  const names = new Map<string, string>()
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/' } = request
    const body = await buffer(request)
    const acked = url.endsWith('/ack') ? (JSON.parse(body.toString()) as { ids: string[] }).ids : []
    const named = acked.map((id) => names.get(id) ?? '?')
    if (acked.length > 0 && at('ack-asked', named)) return void response.destroy() // it never reaches the console
    const headers = { accept: 'application/json', 'content-type': request.headers['content-type'] ?? '' }
    const answer = await fetch(`http://127.0.0.1:${consolePort}${url}`, {
      method,
      headers,
      ...(method === 'GET' ? {} : { body }),
    })
    const text = await answer.text()
    for (const { id, outcome } of (JSON.parse(text) as Answer).outcomes ?? []) names.set(id, outcome.id)
    if (acked.length > 0) at('ack-done', [])
    if (url === '/v1/candidates') at('part-stored', [])
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text, () => {
      if (text.includes('"outcome"')) at('outcomes-answered', [])
    })
  }
  const server = createServer((request, response) => void pass(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe.skipIf(!python)('integrations/python/frontier.py', async () => {
  const redis = await redisForTest()

  test('it acknowledges what is on its disk; killed at each step, it has one line for each URL and redirect', async () => {
    const { origin, asked } = await site((request, response) => {
      if (request.url !== '/moved') return false
      response.writeHead(301, { location: '/target' }).end()
      return true
    })
    const dir = await folder()
    const path = join(dir, 'done.ndjson')
    const urls = [...Array.from({ length: URLS - 1 }, (_, n) => `${origin}/${n}`), `${origin}/moved`]
    await writeFile(join(dir, 'urls.txt'), `${urls.join('\n')}\n`)
    const fleet = await startFleet({
      env: {
        ...process.env,
        REDIS_URL: redis.url,
        DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
        DEFAULT_DELAY_MS: '20',
        LOG_LEVEL: 'error',
      },
      gateways: 1,
      fetchers: 1,
      console: true,
    })
    onTestFinished(async () => void (await fleet.stop()))
    const lines = (): { id: string; url: string }[] =>
      existsSync(path)
        ? readFileSync(path, 'utf8')
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line) as { id: string; url: string })
        : []

    const early: string[] = []
    let child: ChildProcess | undefined
    let killAt: Moment | undefined
    const proxy = await between(fleet.of('console')[0]?.port ?? 0, (moment, ids) => {
      const onDisk = new Set(lines().map(({ id }) => id))
      early.push(...ids.filter((id) => !onDisk.has(id)))
      if (moment !== killAt) return false
      killAt = undefined
      child?.kill('SIGKILL')
      return true
    })
    const run = async (moment: Moment | undefined): Promise<[code: number | null, signal: string | null]> => {
      killAt = moment
      const env = { ...process.env, CONSOLE: proxy }
      child = spawn('python3', [FRONTIER, join(dir, 'urls.txt'), path], { env, stdio: ['ignore', 'ignore', 'inherit'] })
      onTestFinished(() => void child?.kill('SIGKILL'))
      return (await once(child, 'exit')) as [number | null, string | null]
    }
    const moments = [
      'part-stored',
      'outcomes-answered',
      'ack-asked',
      'ack-done',
      'outcomes-answered',
      'ack-asked',
    ] as const
    for (const moment of moments) expect(await run(moment)).toEqual([null, 'SIGKILL'])
    expect(lines().length, 'in the middle').toBeLessThan(URLS)
    expect(await run(undefined)).toEqual([0, null])

    expect(early, 'acknowledged and not on the disk').toEqual([])
    const done = lines()
    expect(done.map(({ url }) => url).sort()).toEqual([...urls, `${origin}/target`].sort())
    expect(new Set(done.map(({ id }) => id)).size).toBe(URLS + 1)
    expect(new Set(asked).size).toBe(URLS + 1)
    expect(asked.length, 'more than the part that was sent twice').toBeLessThanOrEqual(URLS + 1 + 100)
    const raw = new Redis(redis.url)
    onTestFinished(() => raw.disconnect())
    expect((await raw.xpending('{decorum:0}:outcomes', 'python-frontier'))[0]).toBe(0)
  })
})
