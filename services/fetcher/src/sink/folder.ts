/** Keeps pages as files: for each URL the decoded body and a JSON file with the rest, in a folder per host. Only the latest page is kept. */

import { hash } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ContentError } from '@decorum/content/coding'
import { base32, codingsOf } from '@decorum/protocol'
import { DECODED_MAX_BYTES } from '@decorum/sending'
import { type Unpacked, unpack, unpacking } from '@decorum/sending/bodies'
import type { Page, Sink } from './sink.ts'

/**
 * Bodies are decoded into the file piece by piece, so none is in memory as a whole. decode.ts limits how many are decoded at a time in
 * this process.
 */
export async function openFolder(folder: string): Promise<Sink> {
  await mkdir(folder, { recursive: true })
  let serial = 0
  return {
    keepsBodies: true,
    async store(page, signal) {
      const { host } = new URL(page.url)
      const place = join(safe(host), hash('sha256', page.url, 'hex').slice(0, 32))
      const path = join(folder, place)
      const part = `${path}.${process.pid}-${serial++}.part` // so that no reader finds half a file
      const { body } = page.answer
      const inTurn = body.inMemory() === undefined ? unpacking.largePages : unpacking.smallPages
      return inTurn(async () => {
        await mkdir(join(folder, safe(host)), { recursive: true })
        try {
          const { bytes, ...note } = await writeBody(part, page, signal)
          const digest = `sha1:${base32(await body.digest())}`
          const json = JSON.stringify(describe(page, { digest, ...note }))
          signal.throwIfAborted() // after an abort the body is discarded; from here on both files are written
          await rename(part, `${path}.body`)
          await writeFile(part, `${json}\n`, { flag: 'wx' })
          await rename(part, `${path}.json`)
          return { file: `${place}.body`, offset: 0, length: bytes }
        } finally {
          await rm(part, { force: true })
        }
      }, signal)
    },
    close: async () => {},
  }
}

/** A host as a file name: not every file system allows the brackets and colons of IPv6 addresses and ports. */
const safe = (host: string): string => host.replace(/[^a-z0-9.-]/gi, '_').replace(/^\.+/, '_')

/** `coding`: the codings in the order of application, `identity` without one */
type Note = { coding: string; cut: Unpacked['cut']; undecodable?: string }
type Written = Note & { bytes: number }

/** A body that does not decode is kept as received. */
async function writeBody(path: string, { answer }: Page, signal: AbortSignal): Promise<Written> {
  const file = await open(path, 'wx')
  try {
    const write = async (codings: string[], complete: boolean): Promise<Written> => {
      let at = 0
      const take = async (chunk: Uint8Array): Promise<void> => {
        signal.throwIfAborted()
        await writeAll(file, chunk, at)
        at += chunk.length
      }
      const { bytes, cut } = await unpack(answer.body.read(), codings, DECODED_MAX_BYTES, complete, take)
      const kept = Math.min(bytes, DECODED_MAX_BYTES)
      await file.truncate(kept)
      return { coding: codings.join(', ') || 'identity', cut, bytes: kept }
    }
    try {
      return await write(codingsOf(answer.headers), answer.truncated === '')
    } catch (error) {
      if (!(error instanceof ContentError)) throw error
      return { ...(await write([], true)), undecodable: error.message }
    }
  } finally {
    await file.close()
  }
}

async function writeAll(file: FileHandle, chunk: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < chunk.length;) {
    done += (await file.write(chunk, done, chunk.length - done, at + done)).bytesWritten
  }
}

function describe({ kind, url, agent, id, meta, answer }: Page, note: Note & { digest: string }): object {
  const { status, statusText, headers, body, truncated, startedAt, timing, address, tls } = answer
  return {
    kind,
    url,
    agent,
    id,
    meta,
    status,
    statusText,
    headers,
    bytes: body.bytes,
    truncated,
    ...note,
    startedAt,
    timing,
    address,
    tls,
  }
}
