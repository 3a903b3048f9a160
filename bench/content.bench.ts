/**
 * What a frontier pays to read pages that were kept: from the reference in an outcome to text and to links. Processor time of
 * the whole process, from WARC files of this machine.
 *
 *   node bench/content.bench.ts [--short] through bench/main.ts
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type Content, contentOf } from '@decorum/content'
import { openArchive } from '@decorum/fetcher/testing'
import { type Answer, Body } from '@decorum/sending/testing'
import { agentsOf } from '../test/fetcher/support/agents.ts'
import { round, spread, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'

const KIB = 1_024
const ROUNDS = 3

type Kept = { url: string; status: number; headers: [string, string][]; ref: string }
type Read = { name: string; read: (content: Content) => Promise<unknown> }

const READS: Read[] = [
  { name: 'bytes', read: (content) => content.bytes() },
  { name: 'text', read: (content) => content.text() },
  { name: 'links', read: (content) => content.links() },
  { name: 'text and links', read: async (content) => [await content.text(), await content.links()] },
]

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-content-bench-'))
  try {
    const rows: string[][] = []
    for (const [size, count] of [
      [1, 1_500],
      [10, 1_500],
      [100, 200],
    ] as const) {
      for (const coding of ['identity', 'gzip'] as const) {
        const kept = await keep(folder, short ? 50 : count, size * KIB, coding)
        const cells = []
        for (const { read } of READS) cells.push(spread(await rates(kept, read, short ? 1 : ROUNDS), 0))
        rows.push([`${size} KB, ${coding}`, ...cells])
      }
    }
    return {
      name: 'content: reading pages that were kept',
      lines: [
        `Pages a second of processor time (all threads of the process), median (least–greatest) of ${ROUNDS} rounds; HTML of ordinary words with a link each 250 bytes, each page read from its reference on its own.`,
        '',
        ...table(['page, content coding', ...READS.map(({ name }) => name)], rows),
        '',
        `Goal: ${round(2_000, 0)} pages of 10 KB a second and core.`,
      ],
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function rates(kept: Kept[], read: Read['read'], rounds: number): Promise<number[]> {
  const found: number[] = []
  for (let nth = -1; nth < rounds; nth++) {
    const before = process.cpuUsage()
    for (const one of kept) await read(contentOf(one, one.ref))
    const { user, system } = process.cpuUsage(before)
    if (nth >= 0) found.push(kept.length / ((user + system) / 1e6)) // the first round warms up
  }
  return found
}

async function keep(folder: string, count: number, bytes: number, coding: 'identity' | 'gzip'): Promise<Kept[]> {
  const sink = await openArchive(folder, agentsOf())
  const kept: Kept[] = []
  for (let at = 0; at < count; at++) {
    const url = `https://site${at % 50}.test/section/${at}`
    const html = Buffer.from(pageOf(at, bytes))
    const headers: [string, string][] = [['Content-Type', 'text/html; charset=utf-8']]
    if (coding === 'gzip') headers.push(['Content-Encoding', 'gzip'])
    const body = new Body(true)
    await body.write(coding === 'gzip' ? gzipSync(html) : html)
    const answer = { ...ANSWER, headers, body, startedAt: Date.now(), endedAt: performance.now() } as Answer
    const page = {
      kind: 'page',
      url,
      agent: 'decorum',
      requestHead: 'GET / HTTP/1.1\r\n\r\n',
      id: String(at),
      answer,
    } as const
    const place = await sink.store(page, new AbortController().signal)
    kept.push({ url, status: 200, headers, ref: place?.ref ?? '' })
    await body.discard()
  }
  await sink.close()
  return kept
}

const ANSWER = {
  kind: 'answered',
  status: 200,
  statusText: 'OK',
  truncated: '',
  protocol: 'http/1.1',
  address: '127.0.0.1',
  timing: { totalMs: 1 },
}
const WORDS =
  'the of and a to in is you that it he was for on are as with his they at be this have from or one had by word'.split(
    ' ',
  )

function pageOf(seed: number, bytes: number): string {
  let html = `<!doctype html><html><head><title>Page ${seed}</title></head><body>`
  let state = seed + 1
  while (html.length < bytes - 20) {
    state = (state * 48_271) % 2_147_483_647
    html +=
      state % 50 === 0
        ? `<p class="c${state % 7}"><a href="/section/${state % 10_000}?q=${state}">`
        : `${WORDS[state % WORDS.length]} `
    if (state % 50 === 1) html += '</a></p>'
  }
  return `${html}</body></html>`
}
