/** Pages kept as a fetcher keeps them: fetched from a real server on loopback, through the fetcher's own exchange and archive. */

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Sink } from '@decorum/fetcher/testing'
import type { ArchiveRef } from '@decorum/protocol'
import { requestHead } from '@decorum/sending/testing'
import { onTestFinished } from 'vitest'
import { rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { ask, polite, testConnections } from '../../fetcher/support/tools.ts'

/** @param after  at which end it is removed: of the test, or `afterAll` where the whole file uses it */
export async function newFolder(after: (remove: () => Promise<void>) => void = onTestFinished): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), `decorum-content-${randomBytes(3).toString('hex')}-`))
  after(() => rm(made, { recursive: true, force: true }))
  return made
}

/** @param answer  the whole answer of the site, head and body; text as Latin-1 */
export async function keep(
  sink: Sink,
  answer: string | Buffer,
  over: { maxBytes?: number } = {},
): Promise<Required<ArchiveRef> & { url: string }> {
  const site = await rawOrigin(typeof answer === 'string' ? answer : answer.toString('latin1'))
  const headers = ['user-agent', polite.userAgent]
  const answered = await ask(testConnections(), site.origin, { path: '/dir/page', headers, ...over })
  if (answered.kind !== 'answered') throw new Error(JSON.stringify(answered))
  const url = `${site.origin}/dir/page`
  const head = requestHead(site.origin, '/dir/page', headers, answered.protocol)
  const page = { kind: 'page', url, agent: polite.name, requestHead: head, id: 'one', answer: answered } as const
  const at = await sink.store(page, new AbortController().signal)
  await answered.body.discard()
  if (at?.ref === undefined) throw new Error('the archive gives no reference')
  return { ...at, ref: at.ref, url }
}

export const answer = (fields: Record<string, string>, body: Uint8Array | string): Buffer => {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const lines = Object.entries({ ...fields, 'Content-Length': String(bytes.length) }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${lines.join('')}\r\n`, 'latin1'), bytes])
}
