/** Pages as files: for each URL its decoded body and a JSON beside it, in a folder per host. The latest visit stays. */
import { hash } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codingOf, DecodingError, decode } from './decode.ts'
import { base32 } from './digest.ts'
import { DECODED_MAX_BYTES } from './limits.ts'
import { single } from './read-answer.ts'
import type { Page, Sink } from './sink.ts'

export async function openFolder(folder: string): Promise<Sink> {
  await mkdir(folder, { recursive: true })
  let serial = 0
  const put = async (path: string, content: Uint8Array | string): Promise<void> => {
    const part = `${path}.${process.pid}-${serial++}.part` // nobody reads half a file
    await writeFile(part, content)
    await rename(part, path)
  }
  return {
    keepsBodies: true,
    async store(page) {
      const { host } = new URL(page.url)
      const name = hash('sha256', page.url, 'hex').slice(0, 32)
      const place = join(safe(host), name)
      await mkdir(join(folder, safe(host)), { recursive: true })
      const { octets, ...note } = await decoded(page)
      const digest = `sha1:${base32(await page.answer.body.digest())}`
      await put(join(folder, `${place}.body`), octets)
      await put(join(folder, `${place}.json`), `${JSON.stringify(describe(page, { digest, ...note }))}\n`)
      return { file: `${place}.body`, offset: 0, length: octets.length }
    },
    close: async () => {},
  }
}

/** Host names are letters, digits, dots and dashes; the brackets and colons of IPv6 and ports are not for every file system. */
const safe = (host: string): string => host.replace(/[^a-z0-9.-]/gi, '_').replace(/^\.+/, '_')

type Note = { coding: string; cut: false | 'length' | 'ratio'; undecodable?: string }

/** A body that does not decode is kept as it came: it is what the site said. */
async function decoded({ answer }: Page): Promise<Note & { octets: Uint8Array }> {
  const given = single(answer.headers, 'content-encoding')
  try {
    const coding = codingOf(given)
    return { coding, ...(await decode(answer.body.read(), coding, DECODED_MAX_BYTES, answer.truncated === false)) }
  } catch (error) {
    if (!(error instanceof DecodingError)) throw error
    const wire = await decode(answer.body.read(), 'identity', DECODED_MAX_BYTES)
    return { coding: 'identity', ...wire, undecodable: error.message }
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
