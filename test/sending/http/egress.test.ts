/** EGRESS: by which way requests leave this machine. The proxy and the sites are real, and each writes down whom it saw. */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type Agent, readEgress } from '@decorum/config'
import { openArchive } from '@decorum/fetcher/testing'
import { failureOf } from '@decorum/sending/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { onStoppedClock, whenDeadlinePasses } from '../../fetcher/support/clock.ts'
import { connectProxy } from '../../fetcher/support/connect-proxy.ts'
import { h2Origin } from '../../fetcher/support/h2-origin.ts'
import { rig } from '../../fetcher/support/order-rig.ts'
import { NOW, page, pageOrder } from '../../fetcher/support/orders.ts'
import { answerOf, rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { agentsOf, ask, testConnections, textOf } from '../../fetcher/support/tools.ts'

const through = (proxy: { url: string }, more: Parameters<typeof testConnections>[0] = {}) =>
  testConnections({ trust: true, egress: { '*': { proxy: proxy.url } }, ...more })
const why = (result: Awaited<ReturnType<typeof ask>>): string =>
  result.kind === 'unanswered' ? failureOf(result.error, result.phase) : result.kind
/** Each exchange needs a tunnel of its own. */
const closing = (): ReturnType<typeof rawOrigin> =>
  rawOrigin((socket) => void socket.end(answerOf(200, { connection: 'close' }, 'hello')))
const site = (): ReturnType<typeof rawOrigin> => rawOrigin(answerOf(200, {}, 'hello').toString('latin1'))

describe('a local address', () => {
  test('the site sees it, whatever name it was asked by', async () => {
    const peers: (string | undefined)[] = []
    const origin = await rawOrigin(answerOf(200).toString('latin1'), {
      onConnection: ({ remoteAddress }) => void peers.push(remoteAddress),
    })
    const own = testConnections({
      egress: { decorum: { localAddress: '127.0.0.77' } },
      lookup: async () => [
        { address: '::1', family: 6 },
        { address: '127.0.0.1', family: 4 },
      ],
    })
    expect(await ask(own, origin.origin)).toMatchObject({ kind: 'answered' })
    expect(await ask(own, `http://named.example:${origin.port}`)).toMatchObject({
      kind: 'answered',
      address: '127.0.0.1',
    })
    expect(peers).toEqual(['127.0.0.77', '127.0.0.77'])
  })

  test('one that this machine does not have is its own fault: nothing was sent, and the lane is left alone for a while', async () => {
    const origin = await site()
    const own = testConnections({ egress: { '*': { localAddress: '192.0.2.7' } } })
    expect(await ask(own, origin.origin)).toMatchObject({
      kind: 'not-sent',
      why: '192.0.2.7 is no address of this machine',
    })
    const { run, started, released } = rig({}, { connections: own })
    await run(pageOrder(origin.origin))
    expect(started).toEqual([])
    expect(released).toMatchObject([{ next: { kind: 'defer', why: 'egress' } }])
    const [{ next } = { next: undefined }] = released
    if (next?.kind === 'defer') expect(next.until).toBeGreaterThan(NOW)
    expect(origin.connections).toBe(0)
  })
})

describe('a proxy', () => {
  test('http, https and HTTP/2 go through it, by address and never by name; its login goes to nobody else', async () => {
    const wanted = await connectProxy({ login: 'crawler:s3cret word' })
    const plain = await site()
    const tls = await rawOrigin(answerOf(200, {}, 'hello').toString('latin1'), { cert: 'good' })
    const h2 = await h2Origin((_, response) => void response.end('hello'))
    const own = testConnections({
      trust: true,
      egress: { '*': { proxy: wanted.origin.replace('//', '//crawler:s3cret%20word@') } },
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    })
    for (const [origin, port, protocol] of [
      [`http://named.example:${plain.port}`, plain.port, 'http/1.1'],
      [`https://localhost:${tls.port}`, tls.port, 'http/1.1'],
      [`https://localhost:${h2.port}`, h2.port, 'h2'],
    ] as const) {
      for (let nth = 0; nth < 2; nth++) {
        const result = await ask(own, origin)
        expect(result).toMatchObject({ kind: 'answered', address: '127.0.0.1', protocol })
        expect(await textOf(result)).toBe('hello')
      }
      expect(wanted.asked.at(-1)).toBe(`127.0.0.1:${port}`)
    }
    expect(wanted.asked).toHaveLength(3)
    for (const head of wanted.urls) expect(head.join(' ')).not.toContain('.example')
    const [asked] = plain.asked
    expect(asked?.head).toContain(`host: named.example:${plain.port}`)
    for (const one of [...plain.asked, ...tls.asked]) expect(one.head.toLowerCase()).not.toContain('proxy')
    expect(Object.keys(h2.asked[0]?.headers ?? {}).join()).not.toContain('proxy')
  })

  test('it may itself be reached over TLS', async () => {
    const proxy = await connectProxy({ isTls: true })
    const origin = await site()
    // Its certificate is not one that this machine trusts: refused, and nothing is sent
    expect(await ask(through(proxy), origin.origin)).toMatchObject({
      kind: 'not-sent',
      why: expect.stringContaining('does not answer'),
    })
    expect(origin.connections).toBe(0)
  })

  test('the guard judges what the proxy would reach: literals, every address of a name, ports; the proxy hears nothing of them', async () => {
    const proxy = await connectProxy()
    const origin = await site()
    const strict = { allow: ['127.0.0.1/32'] }
    const mixed = through(proxy, {
      ...strict,
      lookup: async () => [
        { address: '127.0.0.1', family: 4 },
        { address: '10.0.0.1', family: 4 },
      ],
    })
    expect(why(await ask(mixed, `http://mixed.example:${origin.port}`))).toBe('blocked-address')
    const own = through(proxy, strict)
    expect(why(await ask(own, 'http://169.254.169.254'))).toBe('blocked-address')
    expect(why(await ask(own, `http://127.0.0.2:${origin.port}`))).toBe('blocked-address')
    expect(why(await ask(own, `http://[::ffff:10.0.0.1]:${origin.port}`))).toBe('blocked-address')
    expect(why(await ask(own, 'http://127.0.0.1:6379'))).toBe('blocked-port')
    expect(proxy.asked).toEqual([])
    expect(await ask(own, origin.origin)).toMatchObject({ kind: 'answered' }) // the proxy's own address needs no leave
  })

  test('a name that changes its address between two connections is judged again', async () => {
    const proxy = await connectProxy()
    const origin = await rawOrigin((socket) => void socket.end(answerOf(200, { connection: 'close' }, 'x')))
    let address = '127.0.0.1'
    const own = testConnections({ egress: { '*': { proxy: proxy.url } }, lookup: async () => [{ address, family: 4 }] })
    expect(await ask(own, `http://turning.example:${origin.port}`)).toMatchObject({ kind: 'answered' })
    address = '10.0.0.1'
    const other = testConnections({
      egress: { '*': { proxy: proxy.url } },
      lookup: async () => [{ address, family: 4 }],
    })
    expect(why(await ask(other, `http://turning.example:${origin.port}`))).toBe('blocked-address')
    expect(proxy.asked).toEqual([`127.0.0.1:${origin.port}`])
  })

  test.each([
    ['is away', 'away'],
    ['wants another login', 407],
    ['cuts the connection', 'cut'],
  ] as const)(
    'a proxy that %s says nothing about the site: nothing was sent, no attempt is counted',
    async (_, door) => {
      const proxy = await connectProxy({ login: 'me:hidden' })
      const origin = await site()
      const own = through(proxy)
      if (door === 'away') await proxy.close()
      else proxy.door = door
      const result = await ask(own, origin.origin)
      expect(result).toMatchObject({ kind: 'not-sent', why: expect.stringContaining(proxy.origin) })
      expect(JSON.stringify(result)).not.toMatch(/hidden|me:|Basic/)
      expect(origin.connections).toBe(0)
      if (door === 'away') return
      proxy.door = 'open'
      expect(await ask(own, origin.origin)).toMatchObject({ kind: 'answered' })
    },
  )

  describe.each([
    ['answers 502', 502],
    ['answers 403', 403],
    ['answers before it was asked', 'early-bytes'],
    ['hangs up', 'cut'],
    ['says nothing', 'silent'],
  ] as const)('a proxy that was reached and %s', (_, door) => {
    const [agent] = agentsOf().list as [Agent]

    /** On a clock that stands still but between two requests, and while a deadline passes. */
    const failing = (work: (tools: Awaited<ReturnType<typeof toolsOf>>) => Promise<void>): Promise<void> =>
      onStoppedClock(async (pass) => work(await toolsOf(pass)))

    async function toolsOf(pass: (ms: number) => void) {
      const proxy = await connectProxy()
      const [dead, well, third] = await Promise.all([closing(), closing(), closing()])
      const own = through(proxy)
      const fail = async (origin: string) => {
        pass(1)
        const before = proxy.asked.length
        proxy.door = door
        const asking = ask(own, origin, { deadlineMs: 400 })
        await expect.poll(() => proxy.asked.length).toBe(before + 1)
        if (door === 'silent') pass(400)
        const result = await asking
        proxy.door = 'open'
        return result
      }
      const answer = async (origin: string) => {
        pass(1)
        expect(await ask(own, origin)).toMatchObject({ kind: 'answered' })
      }
      const origins = { dead: dead.origin, well: well.origin, third: third.origin }
      return {
        ...origins,
        proxy,
        own,
        fail,
        answer,
        asked: () => dead.asked.length,
        waitMs: (of: string) => own.egressWaitMs(agent, of),
      }
    }

    test('for one site alone: nobody is blamed, and the site is left alone for longer each time', () =>
      failing(async ({ proxy, fail, answer, waitMs, asked, dead, well }) => {
        await answer(well)
        expect(await fail(dead)).toMatchObject({ kind: 'not-sent', why: expect.stringContaining(proxy.origin) })
        expect(waitMs(dead)).toBe(1_000)
        expect(waitMs(well), 'the others go on').toBe(0)
        expect(await fail(dead)).toMatchObject({ kind: 'not-sent' })
        expect(waitMs(dead)).toBe(2_000)
        expect(asked()).toBe(0)
        await answer(dead)
        expect(waitMs(dead)).toBe(0)
      }))

    test('while it opens tunnels to others: the site could not be connected to', () =>
      failing(async ({ fail, answer, waitMs, dead, well }) => {
        await fail(dead)
        await answer(well)
        const result = await fail(dead)
        expect(why(result)).toBe('connect')
        if (result.kind === 'unanswered' && door !== 'silent') expect(result.error.message).toContain('the proxy http')
        expect(waitMs(dead), 'it has a back-off of its own').toBe(0)
      }))

    test('for one site after the other: the way out does not work, and all lanes of the agent wait', () =>
      failing(async ({ fail, answer, waitMs, dead, well, third }) => {
        await answer(well)
        expect(await fail(dead)).toMatchObject({ kind: 'not-sent' })
        expect(await fail(third)).toMatchObject({ kind: 'not-sent' })
        expect(waitMs(well)).toBe(1_000)
        await answer(well)
        expect(waitMs(well)).toBe(0)
      }))
  })

  test('after a failure its lanes are left alone, for longer each time; once it works again that is over', async () => {
    const proxy = await connectProxy()
    const origin = await site()
    const own = through(proxy)
    proxy.door = 'cut'
    const [agent] = agentsOf().list
    if (agent === undefined) return
    await onStoppedClock(async (pass) => {
      expect(own.egressWaitMs(agent, origin.origin)).toBe(0)
      await ask(own, origin.origin)
      expect(own.egressWaitMs(agent, origin.origin)).toBe(1_000)
      pass(999)
      expect(own.egressWaitMs(agent, origin.origin)).toBe(1)
      pass(1)
      expect(own.egressWaitMs(agent, origin.origin)).toBe(0)
      await ask(own, origin.origin)
      expect(own.egressWaitMs(agent, origin.origin)).toBe(2_000)
      proxy.door = 'open'
      await ask(own, origin.origin)
      expect(own.egressWaitMs(agent, origin.origin)).toBe(0)
    })
  })

  test('an exchange that is given up closes the tunnel, and the lease is asked for again when connecting took long', async () => {
    const proxy = await connectProxy()
    const silent = await rawOrigin(() => {})
    const own = through(proxy)
    const isAsked = () => silent.asked.length === 1
    const givenUp = await whenDeadlinePasses(300, isAsked, () => ask(own, silent.origin, { deadlineMs: 300 }))
    expect(why(givenUp)).toBe('timeout')
    await expect.poll(() => silent.open + proxy.open).toBe(0)
    const origin = await site()
    let asked = 0
    const confirm = () => (++asked === 1 ? undefined : Promise.resolve('the ledger says no'))
    expect(await ask(own, origin.origin, { confirm })).toMatchObject({ kind: 'not-sent', why: 'the ledger says no' })
    expect(origin.asked).toEqual([])
  })

  test('neither the archive nor an outcome holds the login', async () => {
    const proxy = await connectProxy({ login: 'me:hidden' })
    const origin = await site()
    const dir = await mkdtemp(join(tmpdir(), 'decorum-egress-'))
    onTestFinished(() => rm(dir, { recursive: true, force: true }))
    const sink = await openArchive(dir, agentsOf())
    const { outcome } = await page(through(proxy), pageOrder(origin.origin), { sink })
    await sink.close()
    expect(outcome).toMatchObject({ kind: 'fetched', address: '127.0.0.1' })
    let text = JSON.stringify(outcome)
    for (const name of await readdir(dir)) {
      const bytes = await readFile(join(dir, name))
      text += name.endsWith('.gz') ? gunzipSync(bytes).toString('latin1') : bytes.toString('latin1')
    }
    expect(text).toContain('WARC-Type: request')
    expect(text).not.toMatch(/hidden|proxy/i)
    expect(text).not.toContain(Buffer.from('me:hidden').toString('base64'))
  })
})

describe('what EGRESS may say', () => {
  test('an agent without an entry goes by that of all others, or by the usual way', () => {
    const of = readEgress('{"*":{"proxy":"http://a:b%3A@p.example:1"},"Other":{"localAddress":"127.0.0.2"}}', [
      'me',
      'other',
    ])
    expect(of('other')).toEqual({ localAddress: '127.0.0.2' })
    expect(of('me')).toEqual({ proxy: { origin: 'http://p.example:1', authorization: `Basic ${btoa('a:b:')}` } })
    expect(readEgress('', ['me'])('me')).toEqual({})
  })
  test.each([
    ['{"me":{}}', 'either localAddress or proxy'],
    ['{"me":{"proxy":"socks5://u:hidden@p"}}', 'an address such as'],
    ['{"me":{"proxy":"http://u:hidden@p/path"}}', 'an address such as'],
    ['{"me":{"proxy":"http://u:hidden@p","localAddress":"127.0.0.1"}}', 'either localAddress or proxy'],
    ['{"me":{"localAddress":"eth0"}}', 'an IP address'],
    ['{"nobody":{"proxy":"http://u:hidden@p"}}', "there is no agent 'nobody'"],
    ['{"me":{"proxi":"http://u:hidden@p"}}', 'did you mean proxy'],
    ['{"me":{"proxy":"http://u:hidden@p"}', 'it is not JSON'],
    ['{"me":{"proxy":"http://u:hidden@p"},"ME":{"proxy":"http://q"}}', 'two entries'],
  ])('%s is refused, and its login is not repeated', (text, message) => {
    let said = ''
    try {
      readEgress(text, ['me'])
    } catch (error) {
      said = (error as Error).message
    }
    expect(said).toContain(message)
    expect(said).not.toContain('hidden')
  })
})
