/** Pages in an S3-compatible store: each record once, whatever becomes of the store and of the writer, and readable all the while. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { openContent } from '@decorum/client'
import { type ObjectStore, storeAt } from '@decorum/content/server'
import { completeMembers, openS3, openSpool, type S3Options, type Sink } from '@decorum/fetcher/testing'
import { expect, onTestFinished, test } from 'vitest'
import { WARCParser } from 'warcio'
import { answer, keep } from '../../content/support/kept.ts'
import { agentsOf } from '../support/agents.ts'
import { type TestStore, testStore } from '../support/object-store.ts'
import { isSigned } from '../support/store-server.ts'

const log = { info: () => undefined, warn: () => undefined }

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-s3-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}
async function sinkTo(store: TestStore, folder: string, over: Partial<S3Options> = {}): Promise<Sink> {
  const options = { settings: store.access, fileBytes: 5_000, maxBytes: 1_000_000, log, checkEveryMs: 20, ...over }
  const sink = await openS3(folder, agentsOf(), options)
  onTestFinished(() => sink.close())
  return sink
}
/** A page that does not shrink, so that a file is full after a few. */
const page = (n: number): Buffer => {
  const noise = Array.from({ length: 900 }, (_, at) => ((at * 7_919 + n * 104_729) % 997) + 1).join(' ')
  return answer({ 'Content-Type': 'text/plain' }, `page ${n} ${noise}`)
}
const names = async (folder: string): Promise<string[]> => (await readdir(folder)).sort()
/** Where the last complete record ends. */
async function completeBytes(path: string): Promise<number> {
  let end = 0
  for await (const { offset, length } of completeMembers(path)) end = offset + length
  return end
}
const warcs = async (store: TestStore): Promise<string[]> => store.names().filter((name) => name.endsWith('.warc.gz'))

/** URLs of the responses of all objects, sorted. */
async function stored(store: TestStore): Promise<string[]> {
  const urls: string[] = []
  for (const name of await warcs(store))
    for await (const record of new WARCParser(new Blob([new Uint8Array(store.bytes(name))]).stream())) {
      if (record.warcType === 'response') urls.push(record.warcTargetURI ?? '')
      for await (const _ of record);
    }
  return urls.sort()
}

test('complete files go to the store with their indexes and leave the folder; each record is there once', async () => {
  const store = await testStore()
  const folder = await newFolder()
  const sink = await sinkTo(store, folder)
  const kept = []
  for (let n = 0; n < 12; n++) kept.push(await keep(sink, page(n)))
  await sink.close()
  expect(await names(folder)).toEqual([])
  expect(await stored(store)).toEqual(kept.map(({ url }) => url).sort())
  const all = store.names()
  expect(all.length).toBeGreaterThan(4)
  expect(all.every((name) => name.startsWith('crawl/decorum-'))).toBe(true)
  expect(all.filter((name) => name.endsWith('.cdxj'))).toHaveLength((await warcs(store)).length)
  expect(store.seen.filter(({ method }) => method === 'PUT')).toHaveLength(all.length)
})

test('a reference reads the same page from the folder before, and from the store afterwards', async () => {
  const store = await testStore()
  const folder = await newFolder()
  const sink = await sinkTo(store, folder, { fileBytes: 1_000_000 })
  const { ref } = await keep(sink, page(1))
  expect(ref).toMatch(/^warc\+s3:\/\/pages\/crawl\/decorum-[\w.-]+\.warc\.gz\?offset=\d+&length=\d+&until=file%3A/)
  const text = await (await openContent(ref, { s3: store.access })).text()
  expect(text).toMatch(/^page 1 /)
  expect(store.seen.filter(({ method }) => method === 'GET')).toEqual([])
  await sink.close()
  expect(await names(folder)).toEqual([])
  expect(await (await openContent(ref, { s3: store.access })).text()).toBe(text)
  await expect(openContent(ref)).rejects.toMatchObject({ code: 'gone' })
  const stranger = { ...store.access, secretAccessKey: 'another secret' }
  await expect(openContent(ref, { s3: stranger })).rejects.toThrow(/403 SignatureDoesNotMatch/)
  store.door = { kind: 'status', status: 403 }
  await expect(openContent(ref, { s3: store.access })).rejects.toMatchObject({ code: 'unavailable' })
})

test('the store of these tests judges signatures as AWS computes them: its published example of a GET', () => {
  const headers = {
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,' +
      'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,' +
      'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    host: 'examplebucket.s3.amazonaws.com',
    range: 'bytes=0-9',
    'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'x-amz-date': '20130524T000000Z',
  }
  const secret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
  const asked = { method: 'GET', path: '/test.txt', headers }
  expect(isSigned(asked, secret)).toBe(true)
  expect(isSigned({ ...asked, path: '/other.txt' }, secret)).toBe(false)
  expect(isSigned(asked, 'another secret')).toBe(false)
})

test.each<[string, TestStore['door']]>([
  ['is not there', { kind: 'cut' }],
  ['is full', { kind: 'status', status: 507 }],
  ['wants another key', { kind: 'status', status: 403 }],
  ['is busy', { kind: 'status', status: 503 }],
])('a store that %s: pages wait in the folder, and go there when it takes them', async (_, door) => {
  const store = await testStore()
  const folder = await newFolder()
  const sink = await sinkTo(store, folder)
  store.door = door
  const kept = []
  for (let n = 0; n < 6; n++) kept.push(await keep(sink, page(n)))
  await expect.poll(() => store.seen.filter(({ status }) => status !== 404 && status !== 200).length).toBeGreaterThan(1)
  expect((await names(folder)).length).toBeGreaterThan(1)
  for (const { ref } of kept) expect(await (await openContent(ref)).text()).toMatch(/^page \d /)
  store.door = { kind: 'open' }
  await sink.close()
  expect(await names(folder)).toEqual([])
  expect(await stored(store)).toEqual(kept.map(({ url }) => url).sort())
})

test('a store that says it has a file and has another length of it: the file stays, and is sent again', async () => {
  const folder = await newFolder()
  let puts = 0
  const liar = createServer((request, response) => {
    request.resume()
    if (request.method === 'PUT') puts += 1
    response.writeHead(200, request.method === 'HEAD' ? { 'content-length': '1' } : {}).end()
  })
  liar.listen(0, '127.0.0.1')
  await once(liar, 'listening')
  onTestFinished(() => void liar.close())
  const settings = { endpoint: `http://127.0.0.1:${(liar.address() as AddressInfo).port}`, region: 'us-east-1' }
  const access = { ...settings, bucket: 'pages', prefix: '', accessKeyId: 'a', secretAccessKey: 'b' }
  const said: string[] = []
  const telling = { info: () => undefined, warn: (fields: object) => void said.push(inspect(fields)) }
  const options = { settings: access, fileBytes: 2_000, maxBytes: 1_000_000, log: telling, checkEveryMs: 20 }
  const sink = await openS3(folder, agentsOf(), options)
  onTestFinished(() => sink.close())
  for (let n = 0; n < 3; n++) await keep(sink, page(n))
  await expect.poll(() => puts).toBeGreaterThan(1)
  expect((await names(folder)).some((name) => name.endsWith('.warc.gz'))).toBe(true)
  expect(said.join()).toMatch(/1 bytes of \d+ are in the store/)
})

test('a folder that is full asks for a pause until the store has taken some of it', async () => {
  const store = await testStore()
  const sink = await sinkTo(store, await newFolder(), { maxBytes: 8_000 })
  store.door = { kind: 'status', status: 503 }
  expect(sink.room?.()).toBeUndefined()
  // Twice as much: what was written while the folder was looked at counts twice until the next look.
  for (let n = 0; n < 16; n++) await keep(sink, page(n))
  await expect.poll(() => sink.room?.() instanceof Promise).toBe(true)
  let isOver = false
  const waiting = sink.room?.()?.then(() => {
    isOver = true
  })
  await expect.poll(() => store.seen.filter(({ status }) => status === 503).length).toBeGreaterThan(2)
  expect(isOver).toBe(false)
  store.door = { kind: 'open' }
  await waiting
  await expect.poll(() => sink.room?.()).toBeUndefined()
})

/**
 * DECORUM_S3_MINUTES (with --testTimeout=3600000): writers are killed for so long, and the store is slow, full, away and cut off in turns. Otherwise: four writers
 * and a slow store.
 */
const MINUTES = Number(process.env.DECORUM_S3_MINUTES ?? 0)
const SLOW: TestStore['door'] = { kind: 'slow', ms: 150 }
const DOORS: readonly TestStore['door'][] = [
  SLOW,
  { kind: 'open' },
  { kind: 'status', status: 503 },
  { kind: 'cut' },
  { kind: 'slow', ms: 900 },
  { kind: 'status', status: 507 },
]
/** Of what was kept so far, after each kill. */
const READ_AGAIN = 60

test('writers killed while they write and upload: the next one brings all that was kept, each record once', async () => {
  const store = await testStore()
  const folder = await newFolder()
  const urls: string[] = []
  const refs: string[] = []
  const readAll = async (some: string[]): Promise<void> => {
    for (const ref of some) expect(await (await openContent(ref, { s3: store.access })).text()).toMatch(/^page /)
  }
  /** What was left is brought to the store. */
  const drain = async (): Promise<void> => {
    const sink = await sinkTo(store, folder)
    await expect.poll(async () => (await names(folder)).length, { interval: 100 }).toBe(0)
    await sink.close()
  }
  const until = performance.now() + MINUTES * 60_000
  let killed = 0
  for (; killed < 4 || performance.now() < until; killed++) {
    store.door = MINUTES === 0 ? SLOW : (DOORS[killed % DOORS.length] ?? SLOW)
    const child = fork(new URL('../support/s3-child.ts', import.meta.url), [], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.send({ folder, settings: store.access, life: killed })
    const before = store.seen.length
    let mine = 0
    child.on('message', (kept: { url: string; ref: string }) => {
      urls.push(kept.url)
      refs.push(kept.ref)
      mine++
    })
    // In the middle of an upload, or of an attempt at one, with pages written since
    const isUploading = ({ method, status }: TestStore['seen'][number]): boolean =>
      status >= 500 || (method === 'PUT' && status === 0)
    const isWaiting = (): boolean => store.seen.slice(before).some(isUploading) || store.door.kind === 'open'
    await expect.poll(() => mine > 8 + (killed % 5) * 20 && isWaiting(), { interval: 10 }).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'exit')
    store.door = { kind: 'open' }
    await readAll(refs.slice(-READ_AGAIN))
    // Writers that are killed so soon leave more than they bring
    if (MINUTES > 0 && killed % DOORS.length === 0) await drain()
    store.seen.length = 0
  }
  await drain()
  // A page whose record was written whole, and whose reference was not told any more, may be there as well
  const all = await stored(store)
  console.info(`${killed} writers killed, ${urls.length} records told, ${all.length} in the store`)
  expect(new Set(all).size, 'none is there twice').toBe(all.length)
  const there = new Set(all)
  expect(
    urls.filter((url) => !there.has(url)),
    'none is lost',
  ).toEqual([])
  expect(all.length).toBeLessThanOrEqual(urls.length + killed)
  await readAll(refs)
  expect(urls.length).toBeGreaterThan(30)
  // Each file has its index, and each line of it leads to its record
  const lines: string[] = []
  for (const name of store.names().filter((one) => one.endsWith('.cdxj')))
    lines.push(
      ...store
        .bytes(name)
        .toString()
        .split('\n')
        .filter((line) => line !== ''),
    )
  expect(lines.map((line) => (JSON.parse(line.slice(line.indexOf('{'))) as { url: string }).url).sort()).toEqual(all)
})

test('a writer that was given the process id of the one before it, as in containers, takes over its unfinished file', async () => {
  const store = await testStore()
  const folder = await newFolder()
  const earlier = await sinkTo(store, folder, { fileBytes: 1_000_000 })
  const { ref, url } = await keep(earlier, page(1))
  const [name = ''] = await names(folder)
  const left = await newFolder()
  await writeFile(join(left, name), Buffer.concat([await readFile(join(folder, name)), Buffer.from([0x1f, 0x8b, 8])]))
  const later = await sinkTo(store, left, { fileBytes: 1_000_000 })
  await expect.poll(() => names(left)).toEqual([])
  const second = await keep(later, page(2))
  await later.close()
  expect(await stored(store)).toEqual([url, second.url].sort())
  expect(await (await openContent(ref, { s3: store.access })).text()).toMatch(/^page 1 /)
})

test('what a killed writer has left is cut behind its last complete record, wherever it broke off', async () => {
  const store = await testStore()
  const folder = await newFolder()
  const sink = await sinkTo(store, folder, { fileBytes: 1_000_000 })
  const kept = []
  for (let n = 0; n < 3; n++) kept.push(await keep(sink, page(n)))
  const [name = ''] = await names(folder)
  const whole = await readFile(join(folder, name))
  const path = join(await newFolder(), 'cut')
  expect(await completeBytes(join(folder, name))).toBe(whole.length)
  const ends = kept.map(({ offset, length }) => offset + length)
  for (let cut = 1; cut < whole.length; cut += 97) {
    await writeFile(path, whole.subarray(0, cut))
    const complete = await completeBytes(path)
    expect(complete).toBeLessThanOrEqual(cut)
    for (const end of ends) if (end <= cut) expect(complete).toBeGreaterThanOrEqual(end)
  }
  await writeFile(path, Buffer.concat([whole, Buffer.alloc(3_000)]))
  expect(await completeBytes(path)).toBe(whole.length)
  await writeFile(path, Buffer.alloc(3_000, 0x1f))
  expect(await completeBytes(path)).toBe(0)
})

test('another fetcher on the folder that uploads a file first is no fault of the store: nothing is said', async () => {
  const store = await testStore()
  const folder = await newFolder()
  const name = 'decorum-20260101000000000-00000-elsewhere-1.warc.gz'
  await writeFile(join(folder, name), 'a file of a writer that is gone')
  await utimes(join(folder, name), 0, 0)
  const said: string[] = []
  const telling = { info: () => undefined, warn: (fields: object) => void said.push(inspect(fields)) }
  const { bucket, prefix } = store.access
  const real = storeAt(store.access)
  const first: ObjectStore = {
    ...real,
    async put(...given) {
      await rm(join(folder, name)) // as the other one does when the store has it
      return real.put(...given)
    },
  }
  const options = {
    folder,
    store: first,
    bucket: { bucket, prefix },
    maxBytes: 1_000_000,
    log: telling,
    checkEveryMs: 20,
  }
  const spool = await openSpool(options)
  onTestFinished(() => spool.close(0))
  await expect.poll(() => store.seen.filter(({ method }) => method === 'HEAD').length + said.length).toBeGreaterThan(1)
  await spool.close(0)
  expect(said).toEqual([])
  expect(store.bytes(`${prefix}${name}`).toString()).toBe('a file of a writer that is gone')
})
