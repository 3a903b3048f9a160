/**
 * When the files of a folder were last written to, by Redis's clock. The time of a file in its file system comes from another clock, which
 * may be an hour behind, or may have been so earlier. So a file counts as written until the last check at which its size or time had
 * changed; the results are stored beside the files, in `retention.json`. If they are lost, files count as just written.
 */
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const NAME = 'retention.json'
/** Content of `retention.json`: size and time of each file, and Redis's clock at the first check that found both, ms since 1970. */
type Seen = Record<string, [bytes: number, mtimeMs: number, at: number]>

export type Kept = {
  name: string
  bytes: number
  /** nothing was written to the file after this instant, ms since 1970 by Redis's clock */
  quietSince: number
}

/** @param now  Redis's clock, ms since 1970 */
export async function lastWrites(folder: string, names: readonly string[], now: number): Promise<Kept[]> {
  const before = await readSeen(folder)
  const after: Seen = {}
  const kept: Kept[] = []
  for (const name of names) {
    const found = await stat(join(folder, name)).catch(() => undefined)
    if (found === undefined) continue // another process has removed or renamed it
    const { size, mtimeMs } = found
    const [bytes, written, at] = before[name] ?? []
    // If Redis's clock went backwards (`at` > `now`), the file counts as written now
    const quietSince = bytes === size && written === mtimeMs && at !== undefined && at <= now ? at : now
    after[name] = [size, mtimeMs, quietSince]
    kept.push({ name, bytes: size, quietSince })
  }
  const text = JSON.stringify(after)
  if (text !== JSON.stringify(before)) {
    const draft = join(folder, `${NAME}.${process.pid}`)
    await writeFile(draft, text)
    await rename(draft, join(folder, NAME)) // with several processes the last one wins; each entry is correct independently
  }
  return kept
}

async function readSeen(folder: string): Promise<Seen> {
  try {
    const read: unknown = JSON.parse(await readFile(join(folder, NAME), 'utf8'))
    const entries = Object.entries(read ?? {}).filter(
      (entry) => Array.isArray(entry[1]) && entry[1].length === 3 && entry[1].every(Number.isFinite),
    )
    return Object.fromEntries(entries)
  } catch {
    return {} // the first check, or an unreadable file
  }
}
