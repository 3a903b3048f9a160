/** What a site says about a page reaches the outcome whatever becomes of the body, and `noarchive` where it is honoured. */
import { gzipSync } from 'node:zlib'
import type { Sink } from '@decorum/fetcher/testing'
import { expect, test } from 'vitest'
import { page, pageOrder } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { polite, testConnections } from '../support/tools.ts'

const connections = testConnections()
const HEAD = '<html lang=de><meta charset=utf-8><meta name=robots content=noarchive><link rel=canonical href=/b>'
const SAYS = { robots: ['noarchive'], canonical: expect.stringMatching(/\/b$/), language: 'de', charset: 'utf-8' }
const sinkWith = (kept: string[]): Sink => ({
  keepsBodies: true,
  async store({ url }) {
    kept.push(url)
    return { file: 'f', offset: 0, length: 1 }
  },
  close: async () => {},
})
const bodies: [string, Buffer, Record<string, string>][] = [
  ['small', Buffer.from(HEAD), {}],
  ['packed', gzipSync(HEAD), { 'content-encoding': 'gzip' }],
  ['larger than what stays in memory', Buffer.from(HEAD + ' '.repeat(400_000)), {}],
  ['packed and large', gzipSync(HEAD + ' '.repeat(400_000)), { 'content-encoding': 'gzip' }],
]

test.each(bodies)(
  '%s: the same, whether bodies are kept or not; noarchive is kept unless it is honoured',
  async (_, body, coding) => {
    const site = await rawOrigin((socket) =>
      socket.write(answerOf(200, { 'content-type': 'text/html', ...coding }, body)),
    )
    const kept: string[] = []
    const of = async (over: Parameters<typeof page>[2]) =>
      (await page(connections, pageOrder(site.origin), over)).outcome
    expect(await of({})).toMatchObject({ kind: 'fetched', says: SAYS })
    expect(kept).toEqual([])
    expect(await of({ sink: sinkWith(kept) })).toMatchObject({ says: SAYS, archive: { file: 'f' } })
    expect(kept).toHaveLength(1)
    const honoured = await of({ sink: sinkWith(kept), agent: { ...polite, honourNoarchive: true } })
    expect(honoured).toMatchObject({ says: SAYS, bytes: body.length })
    expect(honoured).not.toHaveProperty('archive')
    expect(kept).toHaveLength(1)
  },
)

test('headers say it of any type; a page that says nothing has nothing', async () => {
  const site = await rawOrigin((socket, { path }) => {
    const tag = path === '/a' ? { 'x-robots-tag': 'noindex' } : ({} as Record<string, string>)
    socket.write(answerOf(200, { 'content-type': 'image/png', ...tag }, '<html lang=de>'))
  })
  expect((await page(connections, pageOrder(site.origin, '/a'))).outcome).toMatchObject({
    says: { robots: ['noindex'] },
  })
  expect((await page(connections, pageOrder(site.origin, '/b'))).outcome).not.toHaveProperty('says')
})

test('a body in a coding that is not read says nothing, whatever its bytes look like', async () => {
  const site = await rawOrigin(
    answerOf(200, { 'content-type': 'text/html', 'content-encoding': 'compress' }, Buffer.from(`\0${HEAD}`)).toString(
      'latin1',
    ),
  )
  const { outcome } = await page(connections, pageOrder(site.origin), {})
  expect(outcome).toMatchObject({ kind: 'fetched' })
  expect(outcome).not.toHaveProperty('says')
})
