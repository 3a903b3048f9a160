/** Bad input, clients that misbehave, and who may use the proxy. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { nameServer } from '../support/name-server.ts'
import { get, ownSite, sharedProxyFleet } from './fleet.ts'

const SITES = [{ name: 'one' }, { name: 'two', pages: { delayMs: 300 } }]

/** A connection that says this, and what it got until it ended. */
function say(
  proxy: string,
  ...texts: (string | Buffer)[]
): { socket: Socket; said: () => string; over: Promise<string> } {
  const socket = connect(Number(new URL(proxy).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let said = ''
  socket.on('data', (piece) => (said += piece.toString('latin1')))
  socket.on('error', () => undefined)
  for (const text of texts) socket.write(text)
  return { socket, said: () => said, over: new Promise((resolve) => socket.once('close', () => resolve(said))) }
}

/** What the names of these tests are told to be. */
const addresses = new Map<string, string>()
const names = await nameServer((name, type) => {
  const address = addresses.get(name)
  return address === undefined ? { rcode: 'NXDOMAIN' } : type === 'A' ? { a: [address] } : {}
})
afterAll(() => names.close())
const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))

describe('bad input', () => {
  const fleet = sharedProxyFleet({ env: { DNS_SERVERS: names.address } })

  test.each([
    ['what is no HTTP', Buffer.from([22, 3, 1, 0, 200, 1, 0, 0]), 400],
    [
      'a length beside chunks',
      'POST http://{one}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'two lengths',
      'POST http://{one}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd',
      400,
    ],
    ['a line end of one octet before a field', 'GET http://{one}/ HTTP/1.1\nHost: x\n\n', 400],
    ['a blank before a colon', 'GET http://{one}/ HTTP/1.1\r\nHost : x\r\n\r\n', 400],
    ['a head that is too large', `GET http://{one}/ HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
    ['another scheme', 'GET ftp://{one}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['a login in the URL', 'GET http://user:secret@{one}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['no host', 'GET http:///path HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['a path of 20 KB', `GET http://{one}/${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 400],
    ['a path alone', 'GET /page HTTP/1.1\r\nHost: one\r\nConnection: close\r\n\r\n', 400],
    ['TRACE', 'TRACE http://{one}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['a port of a mail server', 'GET http://127.0.0.1:25/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 403],
    ['an address of a private network', 'GET http://10.0.0.1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 403],
    [
      'the address of the metadata of clouds',
      'GET http://169.254.169.254/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      403,
    ],
    ['an IPv6 literal of this machine', 'GET http://[::1]/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 403],
    [
      'a WebSocket',
      'GET http://{one}/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      400,
    ],
    [
      'UDP over HTTP',
      'GET http://{one}/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: connect-udp\r\n\r\n',
      400,
    ],
    [
      'chunks over HTTP/1.0',
      'POST http://{one}/ HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'octets of another script in a host',
      Buffer.from('GET http://b\u00fccher.test/ HTTP/1.1\r\nHost: x\r\n\r\n'),
      400,
    ],
    ['an IPv4 address in disguise', 'GET http://0x0a000001/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 403],
    [
      'an IPv4 address within one of IPv6',
      'GET http://[::ffff:10.0.0.1]/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      403,
    ],
    ['half an IPv6 address', 'GET http://[::1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['a login alone', 'GET http://user@{one}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['HTTP/2 without a tunnel', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['all of a server', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
    ['CONNECT to a path', 'CONNECT /path HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['CONNECT with a login', 'CONNECT user:secret@127.0.0.1:443 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['CONNECT to half an IPv6 address', 'CONNECT [::1:443 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['CONNECT to a name that is none', 'CONNECT a%zz:443 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    [
      'another expectation',
      'POST http://{one}/ HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\nConnection: close\r\n\r\n',
      417,
    ],
  ])('%s is answered with its status, and nothing is sent', async (_, text, status) => {
    const { web, proxy } = await fleet(SITES)
    const host = new URL(web.origins.one as string).host
    const { said, socket } = say(proxy(), typeof text === 'string' ? text.replace('{one}', host) : text)
    await expect.poll(said).toMatch(/\r\n\r\n/)
    expect(said()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(said()).toMatch(/proxy-status: decorum; error=[a-z_]+; details="/i)
    expect(said()).not.toContain('secret')
    socket.destroy()
    const { sites } = JSON.parse((await get(proxy(), '/v1/counts')).body)
    expect(sites[web.origins.one as string]?.sent ?? 0).toBe(0)
  })

  test('a name in another script has the lane of its Punycode, and a body is read behind thousands of fields', async () => {
    const { web, proxy, expectPolite } = await fleet(SITES)
    const { hostname, port } = new URL(web.origins.one as string)
    addresses.set('xn--bcher-kva.test', hostname)
    const [encoded, puny] = await Promise.all([
      get(proxy(), `http://B%C3%9CCHER.test:${port}/a`, { headers: { host: 'x' } }),
      get(proxy(), `http://xn--bcher-kva.test:${port}/b`),
    ])
    expect([encoded.status, puny.status]).toEqual([200, 200])
    const { sites } = JSON.parse((await get(proxy(), '/v1/counts')).body)
    expect(sites[`http://xn--bcher-kva.test:${port}`]).toMatchObject({ sent: 2 })
    await expectPolite()
    const { requests } = await web.evidence()
    expect(requests.map(({ path }) => path)).toEqual(expect.arrayContaining(['/robots.txt', '/a', '/b']))
    // Node's own server takes no so many
    let received = ''
    const site = createServer((socket) => {
      socket
        .on('error', () => undefined)
        .on('data', (piece: Buffer) => {
          received += piece
          if (received.startsWith('GET /robots.txt') || received.endsWith('\r\n\r\nbody'))
            socket.end(
              `HTTP/1.1 ${received.startsWith('GET') ? 404 : 200} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
            )
          if (received.startsWith('GET')) received = ''
        })
    }).listen(0, '127.0.61.2')
    onTestFinished(() => void site.close())
    await once(site, 'listening')
    const origin = `http://127.0.61.2:${(site.address() as AddressInfo).port}`
    const fields = Array.from({ length: 2_100 }, (_, n) => `x${n.toString(36)}:\r\n`).join('')
    const { said } = say(proxy(), `POST ${origin}/ HTTP/1.1\r\nHost: x\r\n${fields}Content-Length: 4\r\n\r\nbody`)
    await expect.poll(said).toMatch(/^HTTP\/1\.1 \d+ /)
    expect(said()).toMatch(/^HTTP\/1\.1 200 /)
    expect(received.match(/\nx\w+:/g)).toHaveLength(2_100)
  })

  test('a proxy that is asked for itself, by whatever way, answers once', async () => {
    const { proxy } = await fleet(SITES)
    const { status, body } = await get(proxy(), `${proxy()}/page`)
    expect([status, body]).toEqual([400, expect.stringContaining('this is a proxy')])
    const { origin } = await ownSite('127.0.61.1', (request, response) => {
      if (request.url === '/robots.txt') return void response.writeHead(404).end()
      // another proxy behind this one, which leads back to it
      void get(proxy(), `${origin}/again`, { headers: { via: String(request.headers.via) } }).then((answer) =>
        response.writeHead(answer.status).end(answer.body),
      )
    })
    const loop = await get(proxy(), `${origin}/loop`)
    expect([loop.status, loop.body]).toEqual([400, expect.stringContaining('asked for itself')])
  })

  test('HTTP/1.0, several sites on one connection, and requests that come before the answer of the last one', async () => {
    const { web, proxy, expectPolite } = await fleet(SITES)
    const { one, two } = web.origins
    const old = await say(proxy(), `GET ${one}/old HTTP/1.0\r\n\r\n`).over
    expect(old).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\nConnection: close\r\n/i)
    expect(old).not.toMatch(/transfer-encoding/i)
    const ask = (url: string, more = ''): string => `GET ${url} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
    const piped = await say(
      proxy(),
      ask(`${two}/1`) + ask(`${one}/2`) + ask(`${two}/3`) + ask(`${one}/no-more`, 'Connection: close\r\n'),
    ).over
    expect(piped.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(4)
    await expectPolite()
  })

  test('a head that comes slowly ends its connection, and a storm of clients that die leaves nothing behind', async () => {
    const { web, proxy, expectPolite } = await fleet(SITES)
    const slow = say(proxy(), 'GET http://x/ HT')
    const { two } = web.origins
    const storm = Array.from({ length: 200 }, (_, n) => {
      const one = say(proxy(), n % 5 === 0 ? Buffer.alloc(50, n) : `GET ${two}/${n} HTTP/1.1\r\nHost: x\r\n\r\n`)
      setTimeout(() => (n % 2 === 0 ? one.socket.destroy() : one.socket.resetAndDestroy()), 20 + (n % 17) * 30)
      return one.over
    })
    await Promise.all(storm)
    expect((await get(proxy(), `${two}/after`)).status).toBe(200)
    const metric = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name} (\\d+)`, 'm').exec((await get(proxy(), '/metrics')).body)?.[1])
    await expect.poll(() => metric('decorum_proxy_waiting'), { timeout: 60_000 }).toBe(0)
    await expect.poll(() => metric('decorum_proxy_under_way')).toBe(0)
    expect(await slow.over).toMatch(/^HTTP\/1\.1 408 /)
    await expectPolite()
  })
})

describe.skipIf(!hasIPv6)('IPv6', () => {
  const fleet = sharedProxyFleet({ env: { DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8,::1' } })

  test('an IPv6 literal that may be visited is one lane, however it is written', async () => {
    const { proxy } = await fleet([])
    let [now, most] = [0, 0]
    const { server } = await ownSite('::1', (request, response) => {
      if (request.url === '/robots.txt') return void response.writeHead(404).end()
      most = Math.max(most, ++now)
      setTimeout(() => {
        now--
        response.end('page')
      }, 50)
    })
    const { port } = server.address() as AddressInfo
    const got = await Promise.all(
      ['[::1]', '[0:0:0:0:0:0:0:1]', '[::0001]'].map((host) =>
        get(proxy(), `http://${host}:${port}/`, { headers: { host: 'x' } }),
      ),
    )
    expect([got.map(({ status }) => status), most]).toEqual([[200, 200, 200], 1])
  })
})

const statusOf = ({ status }: { status: number }): number => status

describe('who may use it', () => {
  const TOKEN = 'a-token-of-this-test-01'
  const tokens = JSON.stringify([{ name: 'shop', token: TOKEN, crawls: ['spring'], maxWaiting: 2 }])
  const fleet = sharedProxyFleet({
    env: {
      DECORUM_PERMIT_TOKENS: tokens,
      PROXY_HOSTS: '127.40.0.1, 127.40.0.2, 127.40.0.3',
      PROXY_MAX_WAIT_MS: '1500',
    },
  })
  const as = (login: string): { headers: Record<string, string> } => ({
    headers: { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` },
  })

  test('with tokens: only their holders, for their crawls, for the hosts that may pass; the login never leaves', async () => {
    const { web, proxy, expectPolite } = await fleet(SITES)
    const { one } = web.origins
    const none = await get(proxy(), `${one}/a`)
    expect([none.status, none.headers['proxy-authenticate']]).toEqual([407, 'Basic realm="decorum"'])
    expect((await get(proxy(), `${one}/a`, as(`+spring:not-${TOKEN}`))).status).toBe(407)
    expect((await get(proxy(), `${one}/a`, as(`journeybot:${TOKEN}`))).body).toContain('for the crawls spring')
    expect((await get(proxy(), 'http://other.example/a', as(`+spring:${TOKEN}`))).body).toContain('PROXY_HOSTS')
    await expect.poll(() => get(proxy(), `${one}/a`, as(`journeybot+spring:${TOKEN}`)).then(statusOf)).toBe(200)
    await expectPolite()
  })

  test('a token has so many requests in line and no more; one that waits too long is told which gate holds it', async () => {
    const { web, proxy } = await fleet([{ name: 'paced', robots: { body: 'User-agent: *\nCrawl-delay: 2\n' } }])
    const { paced } = web.origins
    const login = as(`+spring:${TOKEN}`)
    await expect.poll(() => get(proxy(), `${paced}/first`, login).then(statusOf)).toBe(200)
    const all = await Promise.all(
      [1, 2, 3].map(async (n) => {
        await sleep(n * 100)
        return get(proxy(), `${paced}/${n}`, login)
      }),
    )
    expect(all.map(({ body }) => JSON.parse(body).type)).toEqual(['wait', 'wait', 'quota'])
    expect(all.map(({ status }) => status)).toEqual([503, 503, 503])
    expect(all.every(({ headers }) => Number(headers['retry-after']) >= 1)).toBe(true)
    expect(JSON.parse(all[1]?.body ?? '')).toMatchObject({ gate: 'crawl-delay', ahead: expect.any(Number) })
  })
})

describe('when a process dies', () => {
  const fleet = sharedProxyFleet({
    proxies: 2,
    env: { LEASE_MS: '4000', FETCH_DEADLINE_MS: '2000', QUARANTINE_MS: '500' },
  })

  test('a proxy that is killed in an exchange comes back on its port, and its lane is free when its lease has ended', async () => {
    const { web, fleet: running, proxy, expectPolite } = await fleet([{ name: 'slow', pages: { delayMs: 600 } }])
    const { slow } = web.origins
    expect((await get(proxy(), `${slow}/1`)).status).toBe(200)
    const lost = get(proxy(), `${slow}/2`).then(
      ({ status }) => status,
      () => 'lost',
    )
    await sleep(500)
    const [first] = running.of('proxy')
    process.kill(first?.pid as number, 'SIGKILL')
    expect(await lost).toBe('lost')
    expect((await get(proxy(1), `${slow}/3`)).status).toBe(200)
    await expect
      .poll(() =>
        get(proxy(), `${slow}/4`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200)
    await expectPolite()
  })

  test('an exchange that takes longer than its lease keeps it, and one in which nothing moves is ended', async () => {
    const { web, proxy, expectPolite } = await fleet([
      {
        name: 'long',
        paths: { '/long': { bytes: 2_000, dribbleMs: 1_500, delayMs: 1_500 }, '/still': { instead: 'never' } },
      },
    ])
    const { long } = web.origins
    const both = await Promise.all([get(proxy(), `${long}/long`), get(proxy(1), `${long}/other`)])
    expect(both.map(({ status, body }) => [status, body.length])).toEqual([
      [200, 2_000],
      [200, 1_024],
    ])
    const still = await get(proxy(), `${long}/still`)
    expect([still.status, JSON.parse(still.body).detail]).toEqual([504, 'nothing has moved for 2000 ms'])
    await expectPolite()
  })
})
