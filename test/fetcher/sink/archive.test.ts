import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, open as openFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { openContent } from '@decorum/content'
import { openAnnouncedPages } from '@decorum/fetcher/announced-pages'
import { openArchive, openSink, type Page, type Sink } from '@decorum/fetcher/testing'
import type { ArchiveRef } from '@decorum/protocol'
import type { PageOfWorker } from '@decorum/sending'
import { type Answer, Body, requestHead } from '@decorum/sending/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { CDXIndexer, WARCParser } from 'warcio'
import { page, pageOrder } from '../support/orders.ts'
import { python } from '../support/python.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { agentsOf, ask, polite, testConnections } from '../support/tools.ts'

const connections = testConnections()
const folders: string[] = []
const folder = async (): Promise<string> => {
  const made = await mkdtemp(join(tmpdir(), 'decorum-warc-'))
  folders.push(made)
  return made
}
afterAll(() => Promise.all(folders.map((made) => rm(made, { recursive: true, force: true }))))

type Over = { maxBytes?: number; note?: Record<string, string> }

async function visit(sink: Sink, origin: string, path = '/', { note, ...over }: Over = {}): Promise<ArchiveRef> {
  const headers = ['user-agent', polite.userAgent]
  const answer = await ask(connections, origin, { path, headers, ...over })
  if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer))
  const page: Page = {
    kind: 'page',
    url: origin + path,
    agent: polite.name,
    requestHead: requestHead(origin, path, headers, answer.protocol),
    id: `id ${path}`,
    answer,
    ...(note === undefined ? {} : { note }),
  }
  const ref = await sink.store(page, new AbortController().signal)
  await answer.body.discard()
  if (ref === undefined) throw new Error('the archive gives a place')
  return ref
}

test('request and response come back octet by octet from the place that the outcome names', async () => {
  const dir = await folder()
  const sink = await openArchive(dir, agentsOf())
  const head =
    'HTTP/1.1 200 Gr\xc3\xbc\xc3\x9f\r\nX-Latin: caf\xe9\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 11\r\n\r\n'
  const site = await rawOrigin(`${head}hello w\xf6rld`)
  const refs = [await visit(sink, site.origin, '/one'), await visit(sink, site.origin, '/two?q=1')]
  await sink.close()
  const [ref] = refs as [ArchiveRef]
  const file = await readFile(join(dir, ref.file))
  const text = gunzipSync(file.subarray(ref.offset, ref.offset + ref.length)).toString('latin1')
  expect(text.startsWith('WARC/1.1\r\n')).toBe(true)
  const [warcHead, ...rest] = text.split('\r\n\r\n')
  expect(`${rest.join('\r\n\r\n')}`).toBe(`${head}hello w\xf6rld\r\n\r\n`)
  for (const field of [
    'WARC-Type: response',
    'WARC-IP-Address: 127.0.0.1',
    'WARC-Protocol: http/1.1',
    `WARC-Target-URI: ${site.origin}/one`,
  ]) {
    expect(warcHead?.split('\r\n')).toContain(field)
  }
  const second = file.subarray(ref.offset + ref.length)
  const asked = gunzipSync(second.subarray(0, memberLength(second))).toString('latin1')
  expect(asked).toContain('WARC-Type: request')
  expect(asked.split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(`${site.asked[0]?.head}\r\n\r\n`)
})

test('an independent reader finds every record whole and every digest right', async () => {
  const dir = await folder()
  const sink = await openArchive(dir, agentsOf())
  const big = Buffer.alloc(2_000_000, 'the same again ')
  const noise = randomBytes(300_000) // nothing that gzip makes smaller: stored in its member as it is
  const site = await rawOrigin((socket, { path }) => {
    if (path === '/gzip')
      socket.write(
        answerOf(200, { 'content-encoding': 'gzip', 'content-type': 'text/html; charset=x' }, gzipSync('<p>packed')),
      )
    else if (path === '/big') socket.write(answerOf(200, {}, big))
    else if (path === '/noise') socket.write(answerOf(200, {}, noise))
    else if (path === '/chunked')
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n')
    else if (path === '/broken') socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this')
    else socket.write(answerOf(404, {}, ''))
  })
  for (const path of ['/gzip', '/big', '/noise', '/chunked', '/none', '/broken'])
    await visit(sink, site.origin, path, path === '/big' ? { maxBytes: 1_500_000 } : {})
  await sink.close()
  const names = await readdir(dir)
  const [file] = names.filter((name) => name.endsWith('.warc.gz'))
  const { code, out } = await python('check', join(dir, file ?? ''))
  expect(out).toContain('records 13 ')
  expect(out).toContain('truncated: length disconnect')
  expect(code, out).toBe(0)
  // and by the index beside it, sorted, each line a place that reads
  const [index] = names.filter((name) => name.endsWith('.cdxj'))
  const lines = (await readFile(join(dir, index ?? ''), 'utf8')).trim().split('\n')
  expect(lines).toEqual([...lines].sort())
  const checked = await python('cdxj', join(dir, index ?? ''))
  expect(checked.code, checked.out).toBe(0)
  expect(checked.out).toContain('lines 6')
  // and the indexer of another maker, which reads the records themselves, comes to the same places, keys, and digests
  const indexer = new CDXIndexer()
  const found: string[] = []
  const warc = await openFile(join(dir, file ?? ''))
  for await (const entry of indexer.iterRecords(new WARCParser(warc.createReadStream()), file ?? ''))
    found.push(indexer.serializeCDXJ(entry))
  const parted = (line: string) => {
    const [key, time, ...json] = line.split(' ')
    const { digest, mime = 'unk', ...fields } = JSON.parse(json.join(' ')) // it leaves out an unknown type, and the digest's name
    return { key, time, mime, digest: digest.replace('sha1:', ''), ...fields }
  }
  expect(found.map(parted).sort(byText)).toEqual(lines.map(parted).sort(byText))
})
const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

test('the independent reader is one: a flipped octet and a cut file do not pass', async () => {
  const dir = await folder()
  const sink = await openArchive(dir, agentsOf())
  const site = await rawOrigin(answerOf(200, {}, 'some body').toString('latin1'))
  const ref = await visit(sink, site.origin)
  await sink.close()
  const path = join(dir, ref.file)
  const good = await readFile(path)
  const record = gunzipSync(good.subarray(ref.offset, ref.offset + ref.length))
  record[record.length - 6] = (record[record.length - 6] ?? 0) ^ 1
  await writeFile(
    path,
    Buffer.concat([good.subarray(0, ref.offset), gzipSync(record), good.subarray(ref.offset + ref.length)]),
  )
  expect((await python('check', path)).out).toContain('digest')
  await writeFile(path, good.subarray(0, good.length - 20))
  expect((await python('check', path)).code).toBe(1)
})

test('announced pages of workers: what they say of address and headers ends no line of a record', async () => {
  const dir = await folder()
  const pages = await openAnnouncedPages('warc', { folder: dir, agents: agentsOf() })
  const told: PageOfWorker = {
    origin: 'http://a.test',
    path: '/',
    id: 'x',
    agent: polite,
    requestHeaders: [['user-agent', polite.userAgent]],
    status: 200,
    headers: [
      ['Set-Cookie', 'a=1\nb=2'],
      ['X: y\r\nContent-Encoding', 'gzip\r\n\r\nHTTP/1.1 200'],
    ],
    body: Buffer.from('the page'),
    truncated: '',
    startedAt: Date.now(),
    ms: 1,
    address: '::1\r\nWARC-Type: request\r\nContent-Length: 0',
  }
  const { ref = '' } = (await pages?.keep(told, new AbortController().signal)) ?? {}
  await pages?.close()
  const [file = ''] = (await readdir(dir)).filter((name) => name.endsWith('.warc.gz'))
  const { code, out } = await python('check', join(dir, file))
  expect(code, out).toBe(0)
  const content = await openContent(ref)
  expect(await content.text()).toBe('the page')
  expect([...content.headers.keys()]).toEqual(['set-cookie', 'x--y--content-encoding'])
})

test('warcio itself reads the file: types in order, request bound to its response', async () => {
  const dir = await folder()
  const sink = await openArchive(dir, agentsOf())
  const site = await rawOrigin(answerOf(200, {}, 'x').toString('latin1'))
  const ref = await visit(sink, site.origin)
  await sink.close()
  const file = await openFile(join(dir, ref.file))
  const seen: string[] = []
  let responseId = ''
  for await (const record of new WARCParser(file.createReadStream())) {
    seen.push(record.warcType ?? '')
    if (record.warcType === 'response') responseId = record.warcHeaders.headers.get('WARC-Record-ID') ?? ''
    if (record.warcType === 'request') expect(record.warcHeaders.headers.get('WARC-Concurrent-To')).toBe(responseId)
    await record.skipFully()
  }
  expect(seen).toEqual(['warcinfo', 'response', 'request'])
})

test('files rotate by size, never between a response and its request, and lose their .open when they are complete', async () => {
  const dir = await folder()
  const sink = await openArchive(dir, agentsOf(), { maxBytes: 2_000 })
  const site = await rawOrigin(answerOf(200, {}, 'x'.repeat(300)).toString('latin1'))
  for (let i = 0; i < 8; i++) await visit(sink, site.origin, `/${i}`)
  const open = async () => (await readdir(dir)).filter((name) => name.endsWith('.open')).length
  await expect.poll(open).toBe(1)
  await sink.close()
  const names = await readdir(dir)
  expect(names.filter((name) => name.endsWith('.open'))).toEqual([])
  const files = names.filter((name) => name.endsWith('.warc.gz'))
  expect(files.length).toBeGreaterThan(1)
  for (const file of files)
    expect((await python('check', join(dir, file))).out).toMatch(/responses (\d+) requests \1\b/)
})

test('a file that is old enough is ended by itself, also while nothing comes', async () => {
  const dir = await folder()
  const sink = await openArchive(dir, agentsOf(), { maxAgeMs: 150 })
  const site = await rawOrigin(answerOf(200, {}, 'x').toString('latin1'))
  await visit(sink, site.origin)
  await expect
    .poll(async () => (await readdir(dir)).map((name) => name.replace(/^.*?\./, '')).sort())
    .toEqual(['cdxj', 'warc.gz'])
  await sink.close()
})

test('a note is a metadata record, with its digests', async () => {
  const dir = await folder()
  const sink = await openArchive(dir, agentsOf())
  const site = await rawOrigin(answerOf(200, {}, 'User-agent: *').toString('latin1'))
  const ref = await visit(sink, site.origin, '/robots.txt', { note: { verdict: 'größer\r\nof two' } })
  await sink.close()
  const { code, out } = await python('check', join(dir, ref.file))
  expect(code, out).toBe(0)
  expect(out).toContain('kinds: warcinfo response request metadata')
  const file = await readFile(join(dir, ref.file))
  const [, metadata = ''] = gunzipSync(file).toString().split('WARC-Type: metadata')
  expect(metadata).toContain('\r\n\r\nverdict: größer of two\r\n\r\n\r\n')
})

test('many at once keep their places apart', async () => {
  const dir = await folder()
  const sink = await openArchive(dir, agentsOf())
  const sites = await Promise.all(
    Array.from({ length: 20 }, (_, i) => rawOrigin(answerOf(200, {}, `site ${i}`.repeat(50)).toString('latin1'))),
  )
  const refs = await Promise.all(sites.map((site, i) => visit(sink, site.origin, `/${i}`)))
  await sink.close()
  const file = await readFile(join(dir, refs[0]?.file ?? ''))
  for (const [i, ref] of refs.entries())
    expect(gunzipSync(file.subarray(ref.offset, ref.offset + ref.length)).toString()).toContain(`site ${i}site ${i}`)
})

/** Length of the first gzip member: what is left when zlib has had enough. */
function memberLength(octets: Buffer): number {
  for (let end = 18; end <= octets.length; end++) {
    try {
      gunzipSync(octets.subarray(0, end))
      return end
    } catch {
      // not yet the end
    }
  }
  return octets.length
}

test('a writer that is killed leaves a file whose records all read, each place that it named among them', async () => {
  const dir = await folder()
  const child = fork(new URL('../support/archive-child.ts', import.meta.url).pathname, [dir])
  const refs: ArchiveRef[] = []
  await new Promise<void>((resolve) => {
    child.on('message', (ref) => {
      refs.push(ref as ArchiveRef)
      if (refs.length === 200) child.kill('SIGKILL')
    })
    child.on('close', () => resolve())
  })
  const [name] = await readdir(dir)
  expect(name).toMatch(/\.warc\.gz\.open$/)
  const { out, code } = await python('partial', join(dir, name ?? ''))
  expect(code, out).toBe(0)
  expect(Number(/whole (\d+)/.exec(out)?.[1])).toBeGreaterThanOrEqual(1 + 2 * refs.length)
  const file = await readFile(join(dir, name ?? ''))
  for (const { file: said, offset, length } of refs) {
    expect(`${said}.open`).toBe(name)
    expect(gunzipSync(file.subarray(offset, offset + length)).toString('latin1')).toContain('WARC-Type: response')
  }
})

describe('a sink whose time is over', () => {
  /** Records of a folder as the independent reader counts them; all of them whole, every digest right. */
  const recordsOf = async (dir: string): Promise<{ responses: number; indexed: number }> => {
    const names = await readdir(dir)
    const [file = ''] = names.filter((name) => name.endsWith('.warc.gz'))
    const [index = ''] = names.filter((name) => name.endsWith('.cdxj'))
    if (file === '') return { responses: 0, indexed: 0 }
    const { code, out } = await python('check', join(dir, file))
    expect(code, out).toBe(0)
    const indexed = (await readFile(join(dir, index), 'utf8')).split('\n').filter((line) => line !== '').length
    return { responses: Number(/responses (\d+)/.exec(out)?.[1]), indexed }
  }

  test.concurrent.each([
    ['warc', 2_000],
    ['warc', 400_000],
    ['folder', 2_000],
    ['folder', 400_000],
  ])('%s writes nothing of a page of %i octets that was let go before its turn came', async (which, size) => {
    const dir = await folder()
    const own = await openSink(which, { folder: dir, agents: agentsOf() })
    const site = await rawOrigin(answerOf(200, {}, Buffer.alloc(size, 'abc ')).toString('latin1'))
    const turn = Promise.withResolvers<void>()
    let late: Promise<unknown> = Promise.resolve()
    const behindOthers: Sink = {
      ...own,
      async store(page, signal) {
        await turn.promise
        late = own.store(page, signal)
        return late as ReturnType<Sink['store']>
      },
    }
    const errors: unknown[] = []
    const { outcome } = await page(connections, pageOrder(site.origin), {
      sink: behindOthers,
      stats: { sinkFailed: (error) => errors.push(error) },
    })
    expect(outcome).toMatchObject({ kind: 'fetched', bytes: size })
    expect(outcome).not.toHaveProperty('archive')
    expect(errors).toMatchObject([{ message: expect.stringContaining('within 5000 ms') }])
    turn.resolve()
    await turn.promise
    await expect(late).rejects.toThrow()
    await own.close()
    if (which === 'warc') expect(await recordsOf(dir)).toEqual({ responses: 0, indexed: 0 })
    else expect(await filesIn(dir)).toEqual([])
  })

  test.each(['warc', 'folder'])(
    '%s: of many large pages at once, those that are given up leave the queue at once and no trace; the others are whole',
    async (which) => {
      const dir = await folder()
      const sink = await openSink(which, { folder: dir, agents: agentsOf() })
      const large = answerOf(200, {}, Buffer.alloc(900_000, 'large ')).toString('latin1')
      const visits = Array.from({ length: 12 }, async (_, n) => {
        const site = await rawOrigin(large)
        const answer = await ask(connections, site.origin, { path: `/${n}` })
        if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer))
        const giveUp = new AbortController()
        const url = `${site.origin}/${n}`
        const requestHead = 'GET / HTTP/1.1\r\n\r\n'
        const page: Page = { kind: 'page', url, agent: polite.name, requestHead, answer }
        return { n, answer, giveUp, stored: () => sink.store(page, giveUp.signal) }
      })
      const all = await Promise.all(visits)
      const storing = all.map(async ({ stored, answer }) => {
        const result = await stored().then(
          () => 'kept',
          (error: Error) => error.message,
        )
        await answer.body.discard()
        return result
      })
      for (const { n, giveUp } of all) if (n % 2 === 1) giveUp.abort(new Error('given up'))
      const results = await Promise.all(storing)
      await sink.close()
      expect(results).toEqual(all.map(({ n }) => (n % 2 === 1 ? 'given up' : 'kept')))
      if (which === 'warc') expect(await recordsOf(dir)).toEqual({ responses: 6, indexed: 6 })
      else expect(await filesIn(dir)).toHaveLength(12) // a body and a note of each
    },
  )

  test('a temporary file that is not what was digested is not kept under that digest', async () => {
    const dir = await folder()
    const sink = await openArchive(dir, agentsOf())
    const body = new Body(true)
    await body.write(Buffer.alloc(300_000, 'a'))
    const true_ = await body.digest()
    Object.defineProperty(body, 'digest', { value: () => Buffer.from(true_).reverse() })
    const answer = { ...(await answered('x')), body }
    const page: Page = {
      kind: 'page',
      url: 'http://a.example/',
      agent: 'x',
      requestHead: 'GET / HTTP/1.1\r\n\r\n',
      answer,
    }
    await expect(sink.store(page, new AbortController().signal)).rejects.toThrow('not those that were digested')
    await sink.close()
    expect(await recordsOf(dir)).toEqual({ responses: 0, indexed: 0 })
  })

  async function answered(text: string): Promise<Answer> {
    const site = await rawOrigin(answerOf(200, {}, text).toString('latin1'))
    const answer = await ask(connections, site.origin)
    if (answer.kind !== 'answered') throw new Error(JSON.stringify(answer))
    return answer
  }
})

const filesIn = async (dir: string): Promise<string[]> =>
  (await readdir(dir, { recursive: true, withFileTypes: true })).flatMap((one) => (one.isFile() ? [one.name] : []))
