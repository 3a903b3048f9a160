import { systemClock } from '@decorum/protocol'
import { openLookup } from '@decorum/sending/testing'
import { expect, test, vi } from 'vitest'
import { dnsServer } from '../../fetcher/support/dns-server.ts'
import { page, pageOrder } from '../../fetcher/support/orders.ts'
import { answerOf, rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { testConnections } from '../../fetcher/support/tools.ts'

const many = Array.from({ length: 25 }, (_, i) => `127.0.2.${i + 1}`)
const server = await dnsServer({
  'here.example': { a: ['127.0.0.1'] },
  'both.example': { a: ['127.0.0.1'], aaaa: ['00000000000000000000000000000001'] },
  'many.example': { a: many },
  'mixed.example': { a: ['127.0.0.1', '10.0.0.1'] },
  'mapped.example': { aaaa: ['00000000000000000000ffff0a000001'] },
  'broken.example': { rcode: 'SERVFAIL' },
  'empty.example': {},
  'loop.example': { cname: 'loop.example' },
  'silent.example': { silent: true },
})
const lookup = openLookup(systemClock, [server.address])
const codeOf = (host: string) =>
  lookup(host).then(
    () => 'found',
    (error: NodeJS.ErrnoException) => error.code,
  )

test('addresses of both families, IPv4 first', async () => {
  expect(await lookup('both.example')).toEqual([
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ])
})

test('a name that does not exist, a server that fails, a name without addresses, a loop: told apart', async () => {
  expect(await codeOf('nowhere.example')).toBe('ENOTFOUND')
  expect(await codeOf('broken.example')).toBe('ESERVFAIL')
  expect(await codeOf('empty.example')).toBe('ENODATA')
  expect(['ENODATA', 'ESERVFAIL', 'ENOTFOUND']).toContain(await codeOf('loop.example'))
})

test('many answers are cut', async () => {
  expect((await lookup('many.example')).length).toBe(16)
})

test('one lookup per name at a time; an answer is kept for a while, a failure is not', async () => {
  let asked = 0
  let fail = false
  const counted = openLookup(systemClock, [], async () => {
    asked++
    if (fail) throw new Error('no')
    return [{ address: '127.0.0.1', family: 4 }]
  })
  await Promise.all([counted('a'), counted('a'), counted('a'), counted('b')])
  expect(asked).toBe(2)
  await counted('a')
  expect(asked).toBe(2)
  fail = true
  await expect(counted('c')).rejects.toThrow('no')
  await expect(counted('c')).rejects.toThrow('no')
  expect(asked).toBe(4)
})

test('a kept answer ends by itself', async () => {
  let asked = 0
  const counted = openLookup(systemClock, [], async () => [{ address: `127.0.0.${++asked}`, family: 4 }])
  const now = vi.spyOn(performance, 'now')
  const start = performance.now()
  expect((await counted('a'))[0]?.address).toBe('127.0.0.1')
  now.mockReturnValue(start + 29_000)
  expect((await counted('a'))[0]?.address).toBe('127.0.0.1')
  now.mockReturnValue(start + 31_000)
  expect((await counted('a'))[0]?.address).toBe('127.0.0.2')
  now.mockRestore()
})

test('the system is asked when no servers are named', async () => {
  const found = await openLookup(systemClock)('localhost')
  expect(found.length).toBeGreaterThan(0)
  expect(found.every(({ address }) => address === '127.0.0.1' || address === '::1')).toBe(true)
})

test('through the fetcher: a name is visited at its address; mixed, mapped and missing ones end as they must', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'here').toString('latin1'))
  const connections = testConnections({ lookup, allow: ['127.0.0.1'] })
  const at = (host: string, attempt = 5) =>
    page(connections, pageOrder(`http://${host}:${site.port}`, '/', { attempt }))
  expect((await at('here.example')).outcome).toMatchObject({ kind: 'fetched', address: '127.0.0.1' })
  expect(site.asked[0]?.head).toContain(`host: here.example:${site.port}\r\n`)
  expect((await at('mixed.example', 1)).outcome).toMatchObject({ reason: 'blocked-address' })
  expect((await at('mapped.example', 1)).outcome).toMatchObject({ reason: 'blocked-address' })
  for (const host of ['nowhere.example', 'broken.example', 'empty.example', 'loop.example']) {
    expect([host, (await at(host)).outcome]).toMatchObject([host, { kind: 'failed', reason: 'dns' }])
  }
  expect(site.asked.length).toBe(1)
})

test('a name server that is silent is given up', async () => {
  const { outcome } = await page(testConnections({ lookup }), pageOrder('http://silent.example', '/', { attempt: 5 }))
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'dns' })
})
