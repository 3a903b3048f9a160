/** What goes wrong around clients that wait: proxies that die, Redis that stands still, uploads slower than a lease, thousands in line. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { get, ownSite, sharedProxyFleet } from './fleet.ts'

const LEASE_MS = 4_000
const fleet = sharedProxyFleet({
  proxies: 2,
  env: { LEASE_MS: String(LEASE_MS), FETCH_DEADLINE_MS: '2000', QUARANTINE_MS: '500' },
})
const SITES = [{ name: 'one' }]
const statusOf = ({ status }: { status: number }): number => status
const metric = async (proxy: string, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\d+)`, 'm').exec((await get(proxy, '/metrics')).body)?.[1])

test('two clients that ask for the same at once have an answer each, also when a third one hangs up', async () => {
  const { web, proxy, expectPolite } = await fleet([
    { name: 'paced', robots: { body: 'User-agent: *\nCrawl-delay: 0.5\n' } },
  ])
  const url = `${web.origins.paced}/same`
  await get(proxy(), url)
  const gone = new AbortController()
  const all = [gone.signal, undefined, undefined].map((signal) => get(proxy(), url, signal && { signal }))
  all[0]?.catch(() => undefined)
  await sleep(50)
  gone.abort()
  await expect(all[0]).rejects.toThrow()
  expect((await Promise.all(all.slice(1))).map(statusOf)).toEqual([200, 200])
  await expectPolite()
  const { requests } = await web.evidence()
  expect(requests.filter(({ path }) => path === '/same')).toHaveLength(3)
})

test('clients of a proxy that is killed while they wait are served by another one, as they ask again', async () => {
  const { web, fleet: running, proxy, expectPolite } = await fleet(SITES)
  const { one } = web.origins
  const ask = async (n: number): Promise<number> => {
    for (let tries = 0; ; tries++) {
      const status = await get(proxy(tries % 2), `${one}/${n}`).then(statusOf, () => 0)
      if (status !== 0) return status
      await sleep(50)
    }
  }
  const all = Promise.all(Array.from({ length: 12 }, (_, n) => ask(n)))
  await expect.poll(() => metric(proxy(), 'decorum_proxy_waiting')).toBeGreaterThan(3)
  process.kill(running.of('proxy')[0]?.pid as number, 'SIGKILL')
  expect(new Set(await all)).toEqual(new Set([200]))
  await expectPolite()
  await expect.poll(() => get(proxy(), '/livez').then(statusOf, () => 0)).toBe(200)
})

test('while Redis stands still nothing is sent and everybody waits; then all are answered', async () => {
  const { web, redis, proxy, expectPolite } = await fleet(SITES)
  const { one } = web.origins
  expect((await get(proxy(), `${one}/first`)).status).toBe(200)
  process.kill(redis.pid, 'SIGSTOP')
  const all = Promise.all(Array.from({ length: 6 }, (_, n) => get(proxy(n % 2), `${one}/${n}`)))
  await sleep(5_000)
  const before = (await web.evidence()).requests.length
  process.kill(redis.pid, 'SIGCONT')
  expect((await all).map(statusOf)).toEqual(Array(6).fill(200))
  expect(before).toBe(2) // robots.txt and the first page
  await expectPolite()
})

test('an upload slower than a lease keeps its lane to its end', async () => {
  const { proxy } = await fleet([])
  let [open, most, received] = [0, 0, 0]
  const { origin } = await ownSite('127.0.62.1', (request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end()
    most = Math.max(most, ++open)
    response.once('close', () => open--)
    request.on('data', (piece: Buffer) => (received += piece.length))
    request.once('end', () => response.end('taken'))
  })
  const slow = connect(Number(new URL(proxy()).port), '127.0.0.1')
  onTestFinished(() => void slow.destroy())
  let said = ''
  slow.on('data', (piece) => (said += piece))
  slow.write(`POST ${origin}/slow HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx`)
  await expect.poll(() => open).toBe(1)
  const other = get(proxy(1), `${origin}/other`)
  for (let n = 0; n < 8; n++) {
    slow.write('x')
    await sleep(LEASE_MS / 5)
  }
  await expect.poll(() => said).toMatch(/^HTTP\/1\.1 200 /)
  expect((await other).status).toBe(200)
  expect([most, received]).toEqual([1, 9])
})

test('a request goes out with the first piece of its body, and one whose body never begins is not sent', async () => {
  const { proxy } = await fleet([])
  const seen: string[] = []
  const { origin } = await ownSite('127.0.62.2', (request, response) => {
    seen.push(request.url ?? '')
    response.writeHead(404).end()
  })
  const silent = connect(Number(new URL(proxy()).port), '127.0.0.1')
  onTestFinished(() => void silent.destroy())
  let said = ''
  silent.on('data', (piece) => (said += piece))
  silent.write(`POST ${origin}/silent HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n`)
  await expect.poll(() => said).toMatch(/^HTTP\/1\.1 503 [\s\S]*nothing has moved for 2000 ms/)
  expect(seen).toEqual(['/robots.txt'])
})

test('two thousand clients in line for one host: those who stay have their turn as soon as the others have gone, of whom nothing is left', async () => {
  const { web, proxy, expectPolite } = await fleet([
    { name: 'line', robots: { body: 'User-agent: *\nCrawl-delay: 0.3\n' } },
  ])
  const { line } = web.origins
  await get(proxy(), `${line}/first`)
  const { port } = new URL(proxy())
  const waiting: Socket[] = []
  const open = async (path: string): Promise<Socket> => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(`GET ${line}${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    return socket
  }
  onTestFinished(() => {
    for (const socket of waiting) socket.destroy()
  })
  for (let n = 0; n < 20; n++) waiting.push(...(await Promise.all(Array.from({ length: 100 }, () => open('/lost')))))
  await expect.poll(() => metric(proxy(), 'decorum_proxy_waiting')).toBeGreaterThan(1_900)
  const staying = await Promise.all(['/s1', '/s2', '/s3'].map(open))
  const ended = staying.map((socket) => once(socket.resume(), 'close'))
  for (const socket of waiting) socket.destroy()
  await Promise.all(ended)
  await expectPolite()
  const { requests } = await web.evidence()
  expect(requests.map(({ path }) => path).filter((path) => path.startsWith('/s'))).toHaveLength(3)
  await expect.poll(() => metric(proxy(), 'decorum_proxy_waiting'), { timeout: 60_000 }).toBe(0)
  await expect.poll(() => metric(proxy(), 'decorum_proxy_under_way')).toBe(0)
})
