/** Pages as WARC files in an S3-compatible store: written to a folder first (archive.ts), and uploaded when a file is complete (spool.ts). */
import type { Agents } from '@decorum/config'
import { storeAt } from '@decorum/content/server'
import { MINUTE, SECOND } from '@decorum/protocol'
import { openArchive } from './archive.ts'
import type { S3Options, Sink } from './sink.ts'
import { openSpool } from './spool.ts'

/** A page waits at most this long in a folder, unless its store does not accept it. */
const MAX_AGE_MS = 10 * MINUTE
/** Time for uploading complete files during a stop; the rest is uploaded after the next start. */
const CLOSE_MS = 10 * SECOND

/** @param contentUrl  the address at which other machines reach the folder; '': there is none */
export async function openS3(folder: string, agents: Agents, options: S3Options, contentUrl = ''): Promise<Sink> {
  const { settings, fileBytes } = options
  const archive = await openArchive(folder, agents, {
    maxBytes: fileBytes,
    maxAgeMs: MAX_AGE_MS,
    contentUrl,
    store: settings,
  })
  const spool = await openSpool({ ...options, folder, store: storeAt(settings), bucket: settings })
  return {
    keepsBodies: true,
    keepsRevisits: true,
    async store(page, signal) {
      const kept = await archive.store(page, signal)
      if (kept !== undefined) spool.wrote(kept.length)
      return kept
    },
    room: () => spool.room(),
    async close() {
      await archive.close()
      await spool.close(CLOSE_MS)
    },
  }
}
