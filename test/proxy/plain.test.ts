/** Plain HTTP through the proxy, in absolute form: every promise holds, and what crosses it is what was sent. */
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { UA } from '../permits/fleet.ts'
import { get, installed, largeAnswer, ownSite, run, sharedProxyFleet, standsStill } from './fleet.ts'

const fleet = sharedProxyFleet({ proxies: 2 })
const [curl, wget] = [installed('curl'), installed('wget')]

const SITES = [
  { name: 'one', robots: { body: 'User-agent: *\nDisallow: /no\nCrawl-delay: 0.3\n' } },
  { name: 'two', paths: { '/moved': { status: 302, location: '{origin:one}/yes' }, '/slow': { delayMs: 400 } } },
]

test('requests of one site through two proxies come one at a time, with its delay, after its robots.txt', async () => {
  const { web, proxy, expectPolite } = await fleet(SITES)
  const { one, two } = web.origins
  const got = await Promise.all(
    Array.from({ length: 12 }, (_, n) => get(proxy(n % 2), `${n % 3 === 0 ? two : one}/${n}`)),
  )
  expect(got.map(({ status }) => status)).toEqual(Array(12).fill(200))
  expect(got.every(({ body }) => body.length === 1_024)).toBe(true)
  const { requests } = await expectPolite()
  expect(requests).toBe(12 + 2)
  const { requests: recorded } = await web.evidence()
  expect(new Set(recorded.map(({ agent }) => agent))).toEqual(new Set([UA]))
})

test('what robots.txt forbids is a 403 that names rule and line, and no request', async () => {
  const { web, proxy, expectPolite } = await fleet(SITES)
  const { one } = web.origins
  const { status, headers, body } = await get(proxy(), `${one}/no/page`)
  expect(status).toBe(403)
  expect(headers['content-type']).toBe('application/problem+json')
  expect(headers['proxy-status']).toBe(
    'decorum; error=http_request_denied; details="line 2 of robots.txt says disallow: /no"',
  )
  expect(JSON.parse(body)).toMatchObject({ type: 'disallowed', status: 403, rule: 'disallow: /no', line: 2 })
  await get(proxy(), `${one}/no/page`, { method: 'POST', body: 'x' }).then(({ status }) => expect(status).toBe(403))
  await expectPolite()
})

test("a client's own request for robots.txt is answered from the fleet's copy, with its age, and is no request", async () => {
  const { web, proxy, expectPolite } = await fleet(SITES)
  const { one, two } = web.origins
  const first = await get(proxy(), `${one}/robots.txt`)
  expect([first.status, first.body]).toEqual([200, 'User-agent: *\nDisallow: /no\nCrawl-delay: 0.3\n'])
  expect(first.headers['content-type']).toBe('text/plain')
  await sleep(1_100)
  const again = await Promise.all([get(proxy(), `${one}/robots.txt`), get(proxy(1), `${one}/robots.txt`)])
  for (const { status, headers } of again) expect([status, Number(headers.age) >= 1]).toEqual([200, true])
  const head = await get(proxy(), `${one}/robots.txt`, { method: 'HEAD' })
  expect([head.status, head.body, head.headers['content-length']]).toEqual([200, '', String(first.body.length)])
  expect((await get(proxy(), `${two}/robots.txt`)).status).toBe(404)
  const { requests } = await expectPolite()
  expect(requests).toBe(2)
})

test('a robots.txt that hangs is a 503 before the shortest time-out of known crawlers, and nothing is allowed', async () => {
  const { web, proxy } = await fleet([{ name: 'mute', robots: { instead: 'never' } }])
  const begun = performance.now()
  const { status, headers } = await get(proxy(), `${web.origins.mute}/robots.txt`)
  expect(status).toBe(503)
  expect(headers['retry-after']).toBe('8')
  expect(performance.now() - begun).toBeLessThan(10_000)
  const gone = new AbortController()
  const held = get(proxy(), `${web.origins.mute}/page`, { signal: gone.signal })
  await sleep(300)
  gone.abort()
  await expect(held).rejects.toThrow()
  const counts = JSON.parse((await get(proxy(), '/v1/counts')).body)
  expect(counts.sites[web.origins.mute as string]).toMatchObject({ requests: 2, sent: 0, refused: 1 })
})

test('a 503 with Retry-After reaches the client, and closes the site for every client', async () => {
  const { web, proxy, expectPolite } = await fleet([
    { name: 'busy', paths: { '/busy': [{ status: 503, retryAfter: '1' }, {}] } },
  ])
  const { busy } = web.origins
  const first = await get(proxy(), `${busy}/busy`)
  expect([first.status, first.headers['retry-after']]).toEqual([503, '1'])
  const begun = performance.now()
  expect((await get(proxy(1), `${busy}/other`)).status).toBe(200)
  expect(performance.now() - begun).toBeGreaterThan(900)
  await expectPolite()
})

test('method, body, cookies and authorization cross; fields of one connection do not, and lengths are said anew', async () => {
  const { proxy } = await fleet(SITES)
  const seen: {
    method?: string | undefined
    url?: string | undefined
    headers: Record<string, unknown>
    body: string
  }[] = []
  const { origin } = await ownSite('127.0.60.1', (request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end()
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.once('end', () => {
      const { method, url, headers } = request
      seen.push({ method, url, headers, body: Buffer.concat(pieces).toString() })
      response.writeHead(201, [
        ...['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Connection', 'X-Hop', 'X-Hop', 'no', 'X-End', 'yes'],
        ...['Trailer', 'X-After'],
      ])
      response.end('done')
    })
  })
  const headers = {
    cookie: 'c=3',
    authorization: 'Bearer site',
    'x-own': 'Yes',
    te: 'trailers',
    connection: 'keep-alive, X-Secret',
    'x-secret': 'of this connection',
    'proxy-connection': 'keep-alive',
    'user-agent': 'curl/8',
  }
  const sized = await get(proxy(), `${origin}/a?b=%20c`, { method: 'PUT', headers, body: 'with a length' })
  expect([sized.status, sized.body]).toEqual([201, 'done'])
  expect(sized.headers['set-cookie']).toEqual(['a=1', 'b=2'])
  expect(sized.headers['x-end']).toBe('yes')
  expect(sized.headers['x-hop']).toBeUndefined()
  expect(sized.headers.via).toMatch(/^1\.1 decorum-[0-9a-f]{8}$/)
  await get(proxy(), `${origin}/chunks`, {
    method: 'POST',
    headers: { 'transfer-encoding': 'chunked' },
    body: 'in chunks',
  })
  expect(seen[0]).toMatchObject({ method: 'PUT', url: '/a?b=%20c', body: 'with a length' })
  expect(seen[0]?.headers).toMatchObject({
    ...{ cookie: 'c=3', authorization: 'Bearer site', 'x-own': 'Yes', 'user-agent': UA, 'content-length': '13' },
    host: new URL(origin).host,
  })
  for (const name of ['te', 'x-secret', 'proxy-connection', 'proxy-authorization'])
    expect(seen[0]?.headers[name]).toBeUndefined()
  expect(seen[1]).toMatchObject({ method: 'POST', body: 'in chunks' })
})

test('a slow client slows the site down: what it does not take is not read', async () => {
  const { proxy } = await fleet(SITES)
  const MOST = 64 * 1024 * 1024
  const large = largeAnswer(MOST)
  const { origin } = await ownSite('127.0.60.2', (request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end()
    large.answer(response)
  })
  const { port } = new URL(proxy())
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`GET ${origin}/large HTTP/1.1\r\nHost: x\r\n\r\n`)
  await once(socket, 'readable')
  await standsStill(large.written)
  expect(large.written()).toBeLessThan(MOST / 2)
  let bytes = 0
  socket.on('data', (piece) => (bytes += piece.length))
  await expect.poll(() => bytes).toBeGreaterThan(MOST)
  socket.destroy()
})

test('an upload waits for its turn before it is asked for (100-continue), and comes whole', async () => {
  const { proxy } = await fleet(SITES)
  let received = 0
  const { origin } = await ownSite('127.0.60.3', (request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end()
    request.on('data', (piece: Buffer) => (received += piece.length))
    request.once('end', () => response.end('ok'))
  })
  const { port } = new URL(proxy())
  const socket = connect(Number(port), '127.0.0.1')
  let said = ''
  socket.on('data', (piece) => (said += piece))
  socket.write(`POST ${origin}/up HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\nExpect: 100-continue\r\n\r\n`)
  await expect.poll(() => said).toContain('HTTP/1.1 100 Continue\r\n')
  expect(received).toBe(0)
  socket.write(Buffer.alloc(300_000))
  await expect.poll(() => said).toContain('HTTP/1.1 200 OK\r\n')
  expect(received).toBe(300_000)
  socket.destroy()
})

test('fields behind a body cross where they may; an answer that comes before the body ends the exchange', async () => {
  const { proxy } = await fleet(SITES)
  const { origin } = await ownSite('127.0.60.5', (request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end()
    if (request.url === '/early') {
      request.resume() // octets that nobody reads would make the system reset the connection, perhaps before its answer is read
      return void response.writeHead(413).end('too large')
    }
    response.writeHead(200, { trailer: 'X-Checksum' }).write('a body')
    response.addTrailers({ 'X-Checksum': 'abc', Vary: 'x', 'Keep-Alive': 'timeout=9' })
    response.end()
  })
  const { port } = new URL(proxy())
  const say = async (text: string | Buffer, ...more: Buffer[]): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1')
    let said = ''
    socket.on('data', (piece) => (said += piece)).on('error', () => undefined)
    for (const piece of [text, ...more]) socket.write(piece)
    await new Promise((resolve) => socket.once('close', resolve))
    return said
  }
  const chunked = await say(`GET ${origin}/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  expect(chunked).toMatch(/\r\n\r\n6\r\na body\r\n0\r\nX-Checksum: abc\r\n\r\n$/)
  const old = await say(`GET ${origin}/b HTTP/1.0\r\n\r\n`)
  expect(old).toMatch(/\r\n\r\na body$/)
  expect(old).not.toMatch(/transfer-encoding|chunked/i)
  const uploading = connect(Number(port), '127.0.0.1')
  let early = ''
  uploading.on('data', (piece) => (early += piece)).on('error', () => undefined)
  uploading.write(`POST ${origin}/early HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n`)
  uploading.write(Buffer.alloc(9_000_000)) // its end never comes
  await expect.poll(() => early).toMatch(/^HTTP\/1\.1 413 [\s\S]*too large\r\n0\r\n\r\n$/)
  uploading.destroy()
  const none = await say(
    `PUT ${origin}/c HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n`,
    Buffer.from('abc'),
  )
  expect(none).toMatch(/^HTTP\/1\.1 200 /)
})

test('what a client would rather speak is not spoken where it can do without, and an HTTP/1.0 client may keep its connection', async () => {
  const { web, proxy, expectPolite } = await fleet(SITES)
  const { two } = web.origins
  const h2c = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' }
  expect((await get(proxy(), `${two}/h2c`, { headers: h2c })).status).toBe(200)
  const socket = connect(Number(new URL(proxy()).port), '127.0.0.1')
  let said = ''
  socket.on('data', (piece) => (said += piece))
  const ask = (path: string): boolean => socket.write(`GET ${two}${path} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`)
  ask('/old-1')
  await expect.poll(() => said.match(/HTTP\/1\.1 200 OK/g)?.length).toBe(1)
  ask('/old-2')
  await expect.poll(() => said.match(/HTTP\/1\.1 200 OK/g)?.length).toBe(2)
  socket.destroy()
  await expectPolite()
})

test('an answer that breaks off does not look whole, and a client that hangs up ends the exchange', async () => {
  const { proxy } = await fleet(SITES)
  let hungUp = false
  const { origin } = await ownSite('127.0.60.4', (request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end()
    response.writeHead(200, { 'content-length': 100 }).write('half')
    if (request.url === '/cut') setTimeout(() => response.destroy(), 50)
    response.once('close', () => (hungUp = true))
  })
  await expect(get(proxy(), `${origin}/cut`)).rejects.toThrow(/aborted|hang up/)
  hungUp = false
  const gone = new AbortController()
  const asked = get(proxy(), `${origin}/open`, { signal: gone.signal })
  await sleep(500)
  gone.abort()
  await expect(asked).rejects.toThrow()
  await expect.poll(() => hungUp).toBe(true)
  expect((await get(proxy(1), `${origin}/robots.txt`)).status).toBe(404)
})

test('a client that hangs up while it waits, and asks again, has the place that it had; one that does not leaves nothing behind', async () => {
  const { web, proxy, expectPolite } = await fleet([
    { name: 'line', robots: { body: 'User-agent: *\nCrawl-delay: 1\n' } },
  ])
  const { line } = web.origins
  await get(proxy(), `${line}/first`)
  const done: string[] = []
  const ask = (path: string, signal?: AbortSignal): Promise<void> =>
    get(proxy(), line + path, signal && { signal }).then(
      () => void done.push(path),
      () => undefined,
    )
  const [early, lost] = [new AbortController(), new AbortController()]
  const second = ask('/second', early.signal)
  await sleep(50)
  const never = ask('/never', lost.signal)
  await sleep(50)
  const others = [ask('/third'), ask('/fourth')]
  await sleep(50)
  early.abort()
  lost.abort()
  await Promise.all([second, never])
  await ask('/second')
  await Promise.all(others)
  expect(done).toEqual(['/second', '/third', '/fourth'])
  await expectPolite()
  const { requests } = await web.evidence()
  expect(requests.map(({ path }) => path)).not.toContain('/never')
})

test.skipIf(curl === undefined)('curl --parallel: all pages, over many connections, one polite visitor', async () => {
  const { web, proxy, expectPolite } = await fleet(SITES)
  const { one, two } = web.origins
  const urls = [one, two].flatMap((origin) => Array.from({ length: 5 }, (_, n) => `${origin}/${n}`))
  const args = ['--parallel', '-s', '-w', '%{http_code}\n', ...urls.flatMap((url) => ['-o', '/dev/null', url])]
  const { code, stdout } = await run(curl as string, args, { http_proxy: proxy(), no_proxy: '' })
  expect([code, stdout]).toEqual([0, '200\n'.repeat(10)])
  const followed = await run(
    curl as string,
    ['-sL', '-o', '/dev/null', '-w', '%{http_code} %{num_redirects}', `${two}/moved`],
    {
      http_proxy: proxy(1),
      no_proxy: '',
    },
  )
  expect(followed.stdout).toBe('200 1')
  await expectPolite()
})

test.skipIf(wget === undefined)(
  'wget -r takes a 403 for what it is, and its own robots.txt from the proxy',
  async () => {
    const links = ['/a', '/no/b', '/moved', '/busy'].map((path) => `<a href="${path}">x</a>`).join('')
    const { web, proxy, expectPolite } = await fleet([
      {
        name: 'w',
        robots: { body: 'User-agent: *\nDisallow: /no\nCrawl-delay: 0.4\n' },
        paths: {
          '/': { body: links },
          '/moved': { status: 302, location: '/target' },
          '/busy': [{ status: 503, retryAfter: '1' }, {}],
        },
      },
    ])
    const into = await mkdtemp(join(tmpdir(), 'decorum-wget-'))
    onTestFinished(() => rm(into, { recursive: true, force: true }))
    await run(wget as string, ['-r', '-nv', '--retry-on-http-error=503', '-P', into, `${web.origins.w}/`], {
      http_proxy: proxy(),
      no_proxy: '',
    })
    const [host = ''] = await readdir(into)
    expect((await readdir(join(into, host))).sort()).toEqual(
      expect.arrayContaining(['a', 'busy', 'index.html', 'robots.txt']),
    )
    const { requests } = await web.evidence()
    expect(requests.filter(({ path }) => path === '/robots.txt')).toHaveLength(1)
    expect(requests.map(({ path }) => path)).not.toContain('/no/b')
    expect(requests.filter(({ path }) => path === '/busy')).toHaveLength(2)
    await expectPolite()
  },
)
