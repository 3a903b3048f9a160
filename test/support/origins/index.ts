/** The synthetic web of the demo, for tests: sites as data, a record of every exchange, a process of its own. */
import { type Site, spawnWeb, type WebProcess } from '@decorum/cli/synthetic-web'

export type { Answer, Script, Site } from '@decorum/cli/synthetic-web'

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Evidence, readLogs } from '@decorum/audit'

export type RecordedWeb = WebProcess & {
  /** file of the record */
  record: string
  /** what was recorded so far */
  evidence(): Promise<Evidence>
  /** stops it and removes its folder; safe to call twice */
  close(): Promise<void>
}

type Options = Pick<Parameters<typeof spawnWeb>[0], 'address' | 'skipAddresses'>

/** Runs sites in a process of their own, with a temporary folder for their record. */
export async function recordedWeb(sites: Site[], options: Options = {}): Promise<RecordedWeb> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-web-'))
  const record = join(folder, 'visits.ndjson')
  const web = await spawnWeb({ sites, record, ...options }).catch(async (error: unknown) => {
    await rm(folder, { recursive: true })
    throw error
  })
  let stopped: Promise<number> | undefined
  const stop = (): Promise<number> => {
    stopped ??= web.stop()
    return stopped
  }
  return {
    ...web,
    record,
    stop,
    evidence: async () => {
      await web.flush()
      return readLogs([record])
    },
    close: async () => {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
