/** HTTP/2 towards clients, within tunnels that are looked into: each stream is a request with a turn of its own. */
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { frame } from '../fetcher/support/h2-frames.ts'
import { TIMES } from '../permits/fleet.ts'
import { get, installed, largeAnswer, run, sharedProxyFleet, standsStill } from './fleet.ts'
import { ask, h2Session, secured } from './h2-client.ts'
import { CA_FILE, spacing, type TlsSite, tlsSite } from './tls-site.ts'

const curl = installed('curl')
const fleet = sharedProxyFleet({ proxies: 2, env: { PROXY_CA: 'memory', NODE_EXTRA_CA_CERTS: CA_FILE } })

const pages = (): Promise<TlsSite> =>
  tlsSite((_, response) => void response.end('page'), { robots: 'User-agent: *\nDisallow: /no\n' })
const paths = (site: TlsSite): string[] => site.visits.map(({ path }) => path)
const expectInTurn = (site: TlsSite): void => {
  const { overlaps, least } = spacing(site.visits)
  expect(overlaps).toBe(0)
  expect(least).toBeGreaterThanOrEqual(TIMES.delayMs - 2)
}

test('a client has the version that it offers: HTTP/2, or HTTP/1.1', async () => {
  const { proxy } = await fleet([])
  const { origin } = await pages()
  expect((await secured(proxy(), origin)).alpnProtocol).toBe('h2')
  expect((await secured(proxy(), origin, ['http/1.1'])).alpnProtocol).toBe('http/1.1')
})

test('many streams of one connection: each in its turn, with the delay of the site; what is forbidden is refused meanwhile', async () => {
  const { proxy } = await fleet([])
  const site = await pages()
  const session = await h2Session(proxy(), site.origin)
  const allowed = ['/0', '/1', '/2', '/3', '/4', '/5']
  const asked = allowed.map((path) => ask(session, path))
  const refused = await ask(session, '/no/x').got
  expect([refused.status, refused.headers['proxy-status']]).toEqual([
    403,
    'decorum; error=http_request_denied; details="line 2 of robots.txt says disallow: /no"',
  ])
  const got = await Promise.all(asked.map((one) => one.got))
  expect(got.map(({ status, body }) => [status, body])).toEqual(Array(6).fill([200, 'page']))
  const robots = await ask(session, '/robots.txt').got
  expect(robots.body).toBe('User-agent: *\nDisallow: /no\n')
  const head = await ask(session, '/head', { ':method': 'HEAD' }).got
  expect([head.status, head.body]).toEqual([200, ''])
  const headRefused = await ask(session, '/no/head', { ':method': 'HEAD' }).got
  expect([headRefused.status, headRefused.body]).toEqual([403, ''])
  expect(paths(site).sort()).toEqual([...allowed, '/head', '/robots.txt'].sort())
  expectInTurn(site)
})

test('a stream that is reset while it waits gives up its turn, and the same request has its place for a while', async () => {
  const { proxy } = await fleet([])
  const site = await tlsSite((_, response) => void response.end('page'), { robots: 'User-agent: *\nCrawl-delay: 1\n' })
  const session = await h2Session(proxy(), site.origin)
  await ask(session, '/first').got
  const done: string[] = []
  const follow = (path: string) => {
    const one = ask(session, path)
    const over = one.got.then(
      () => void done.push(path),
      () => undefined,
    )
    return { ...one, over }
  }
  const [second, never] = [follow('/second'), follow('/never')]
  await sleep(50)
  const others = [follow('/third'), follow('/fourth')]
  await sleep(50)
  second.stream.close(constants.NGHTTP2_CANCEL)
  never.stream.close(constants.NGHTTP2_NO_ERROR)
  await Promise.all([second.over, never.over])
  await follow('/second').over
  await Promise.all(others.map(({ over }) => over))
  expect(done).toEqual(['/second', '/third', '/fourth'])
  expect(paths(site)).not.toContain('/never')
  session.destroy()
  expectInTurn(site)
})

test('a connection that is cut ends what runs and what waits in it', async () => {
  const { proxy } = await fleet([])
  let hungUp = false
  const site = await tlsSite((request, response) => {
    if (request.url !== '/open') return void response.end('page')
    response.write('half')
    response.once('close', () => (hungUp = true))
  })
  const session = await h2Session(proxy(), site.origin)
  const open = ask(session, '/open')
  await once(open.stream, 'data')
  const waits = ask(session, '/waits')
  await sleep(50)
  session.destroy()
  await expect(waits.got).rejects.toThrow()
  await expect.poll(() => hungUp).toBe(true)
  const again = await h2Session(proxy(1), site.origin)
  expect((await ask(again, '/after').got).status).toBe(200)
  expect(paths(site)).not.toContain('/waits')
})

test('a slow reader slows the site down, and a slow site slows an upload down; both come whole', async () => {
  const { proxy } = await fleet([])
  const MOST = 32 * 1024 * 1024 // the buffers of two sockets take some 5 MB
  const large = largeAnswer(MOST)
  let received = 0
  let letIn = (): void => undefined
  const site = await tlsSite((request, response) => {
    if (request.method === 'POST') {
      request.pause()
      request.on('data', (piece: Buffer) => (received += piece.length))
      request.once('end', () => void response.end('taken'))
      letIn = () => void request.resume()
      return
    }
    large.answer(response)
  })
  const session = await h2Session(proxy(), site.origin)
  const got = session.request({ ':path': '/large' })
  await once(got, 'response')
  await standsStill(large.written)
  expect(large.written()).toBeLessThan(MOST / 2)
  let read = 0
  got.on('data', (piece: Buffer) => (read += piece.length))
  await once(got, 'end')
  expect(read).toBe(MOST)
  const up = session.request({ ':path': '/up', ':method': 'POST' })
  let sent = 0
  const push = (): void => {
    while (sent < MOST) {
      sent += 65_536
      if (!up.write(Buffer.alloc(65_536))) return void up.once('drain', push)
    }
    up.end()
  }
  push()
  await standsStill(() => sent)
  expect(sent).toBeLessThan(MOST / 2)
  letIn()
  const [answer] = await once(up, 'response')
  expect(answer[':status']).toBe(200)
  expect(received).toBe(MOST)
  up.resume()
})

test('an upload that breaks off does not look whole to the site', async () => {
  const { proxy } = await fleet([])
  const ends: string[] = []
  const site = await tlsSite((request) => void request.once('aborted', () => ends.push(request.url)))
  const session = await h2Session(proxy(), site.origin)
  const reset = ask(session, '/reset', { ':method': 'POST' }, 'later')
  reset.stream.write(Buffer.alloc(1_000))
  await expect.poll(() => paths(site)).toContain('/reset')
  reset.stream.close(constants.NGHTTP2_CANCEL)
  await expect.poll(() => ends).toEqual(['/reset'])
  const cut = ask(session, '/cut', { ':method': 'POST' }, 'later')
  cut.stream.write(Buffer.alloc(1_000))
  await expect.poll(() => paths(site)).toContain('/cut')
  session.destroy()
  await expect.poll(() => ends).toEqual(['/reset', '/cut'])
})

test('fields, cookies in pieces, trailers and 100-continue cross; another host and CONNECT do not', async () => {
  const { proxy } = await fleet([])
  const seen: Record<string, unknown>[] = []
  const site = await tlsSite((request, response) => {
    seen.push({ ...request.headers })
    response.writeHead(201, {
      ...{ 'set-cookie': ['a=1', 'b=2'], 'x-own': 'Yes' },
      ...(request.url === '/up' && { 'x-up': '1' }),
    })
    response.addTrailers({ 'x-checksum': 'abc', 'content-type': 'text/evil' })
    response.end('done')
  })
  const session = await h2Session(proxy(), site.origin)
  const got = await ask(session, '/a?b=%20c', { cookie: 'c=3; d=4', authorization: 'Bearer site', te: 'trailers' }).got
  expect([got.status, got.body]).toEqual([201, 'done'])
  expect(got.headers['set-cookie']).toEqual(['a=1', 'b=2'])
  expect(Object.keys(got.trailers)).toEqual(['x-checksum'])
  expect(got.headers.via).toMatch(/^1\.1 decorum-/)
  expect(seen[0]).toMatchObject({ cookie: 'c=3; d=4', authorization: 'Bearer site' })
  const up = ask(session, '/up', { ':method': 'PUT', expect: '100-continue' }, 'later')
  await once(up.stream, 'continue')
  up.stream.end('after leave')
  expect((await up.got).headers['x-up']).toBe('1')
  expect(site.visits.at(-1)).toMatchObject({ path: '/up', method: 'PUT', body: 'after leave' })
  const other = await ask(session, '/b', { ':authority': 'other.example' }).got
  expect([other.status, other.body]).toEqual([400, expect.stringContaining('Host names another site')])
  const both = await ask(session, '/b', { host: 'other.example' }).got
  expect(both.status).toBe(400)
  expect((await ask(session, '/\u00fc').got).status).toBe(400)
  const nested = session.request({ ':method': 'CONNECT', ':authority': '127.0.0.1:1' })
  const [answer] = await once(nested, 'response')
  expect(answer[':status']).toBe(400)
})

test('a status that HTTP/2 cannot carry is said in words, and is what it is over HTTP/1.1', async () => {
  const { proxy } = await fleet([])
  const pem = await readFile(new URL('../fetcher/certs/good.pem', import.meta.url))
  const server = createServer({ key: pem, cert: pem }, (request, response) => {
    response.writeHead(request.url === '/robots.txt' ? 404 : 999).end('odd')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { status, body } = await ask(await h2Session(proxy(), origin), '/a').got
  expect([status, body]).toEqual([502, expect.stringContaining('the site has answered 999')])
  const tls = await secured(proxy(), origin, ['http/1.1'])
  tls.write(`GET /b HTTP/1.1\r\nHost: ${new URL(origin).host}\r\n\r\n`)
  const [said] = (await once(tls, 'data')) as [Buffer]
  expect(String(said)).toMatch(/^HTTP\/1\.1 999 /)
})

test('a connection takes a hundred streams, and is closed when frames that belong to none flood it', async () => {
  const { proxy } = await fleet([])
  const site = await pages()
  const session = await h2Session(proxy(), site.origin)
  expect(session.remoteSettings.maxConcurrentStreams).toBe(100)
  session.destroy()
  const tls = await secured(proxy(), site.origin)
  let closed = false
  tls.once('close', () => (closed = true))
  tls.resume()
  tls.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0), frame(4, 1, 0)]))
  const many = Buffer.concat(Array.from({ length: 1_000 }, () => frame(8, 0, 0, Buffer.from([0, 0, 0, 1]))))
  let sent = 0
  while (!closed && sent < 8e6) {
    sent += many.length
    if (!tls.write(many)) await Promise.race([once(tls, 'drain'), once(tls, 'close')]).catch(() => undefined)
    await sleep(1)
  }
  expect(sent).toBeLessThan(4e6)
  await expect.poll(() => closed).toBe(true)
  expect((await get(proxy(), '/livez')).status).toBe(200)
})

test.skipIf(curl === undefined)('curl, over HTTP/2: several URLs over one connection', async () => {
  const { proxy } = await fleet([])
  const site = await pages()
  const file = join(await mkdtemp(join(tmpdir(), 'decorum-h2-')), 'ca.pem')
  onTestFinished(() => rm(dirname(file), { recursive: true, force: true }))
  await writeFile(file, (await get(proxy(), '/v1/ca.pem')).body)
  const urls = ['/a', '/b', '/c'].flatMap((path) => ['-o', '/dev/null', site.origin + path])
  const { stdout, stderr } = await run(curl as string, [
    ...['-s', '-Z', '--http2', '--cacert', file, '-x', proxy(), '-w', '%{http_version} %{http_code}\\n'],
    ...urls,
  ])
  expect(stdout, stderr).toBe('2 200\n'.repeat(3))
  expectInTurn(site)
})
