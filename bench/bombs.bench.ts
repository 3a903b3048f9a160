/**
 * Memory of a fetcher that gets a hundred bombs at once: pages of 10 MiB on the wire (PAGE_MAX_BYTES) that unpack a thousandfold, each
 * from another origin, kept by each kind of sink in a process of its own.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { openStoreServer } from '../test/fetcher/support/store-server.ts'
import { round, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'

const MIB = 1024 * 1024
const BOMB_BYTES = 10 * MIB

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  // Members one after the other are one gzip file
  const member = gzipSync(Buffer.alloc(10 * MIB))
  const bomb = Buffer.concat(Array.from({ length: Math.floor(BOMB_BYTES / member.length) }, () => member))
  const site = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip', 'content-length': bomb.length })
    response.end(bomb)
  })
  await new Promise<void>((resolve) => site.listen(0, '0.0.0.0', resolve))
  const store = await openStoreServer('pages')
  const rows: string[][] = []
  try {
    for (const sink of short ? ['warc'] : ['none', 'warc', 'folder', 's3']) {
      const folder = await mkdtemp(join(tmpdir(), 'decorum-bombs-'))
      const port = String((site.address() as AddressInfo).port)
      const args = [join(import.meta.dirname, 'bombs/child.ts'), sink, folder, port, store.endpoint]
      const { stdout } = await promisify(execFile)(process.execPath, args)
      const { most, fetched, failed } = JSON.parse(stdout) as { most: number; fetched: number; failed: number }
      rows.push([sink, `${round(most / 1e6, 0)} MB`, String(fetched), String(failed)])
      await rm(folder, { recursive: true, force: true })
    }
  } finally {
    site.close()
    store.close()
  }
  return {
    name: 'bombs: memory of a fetcher under a hundred bombs at once',
    lines: [
      `Pages of ${round(bomb.length / MIB, 1)} MiB on the wire that unpack to ${round((bomb.length / member.length) * 10, 0)} MiB, from 100 origins at once. A page that its sink did not keep within 5 s has an outcome without \`archive\`.`,
      '',
      ...table(['sink', 'largest resident memory', 'pages fetched', 'of these not kept in time'], rows),
      '',
      'Goal: 400 MB.',
    ],
  }
}
