/** Logs and robots.txt bodies from disk: line by line, each file in whichever of the known formats it is. */
import { open, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readAccessLine } from './read-access-log.ts'
import { readRecordLine } from './read-record-line.ts'
import type { Evidence } from './record.ts'

/** A log that cannot be judged; the message names file and line. */
export class UnreadableLogError extends Error {
  override readonly name = 'UnreadableLogError'
  readonly code = 'UNREADABLE_LOG'
}

/** No line of a log is longer: a URL of 8 KiB, a User-Agent and some headers; bodies of rules have lines of 500 KiB. */
const MAX_LINE_CHARS = 4_000_000
const CHUNK_BYTES = 1 << 20
const MAX_TEXTS = 100_000

/**
 * @param origin  whose log it is, for access logs that do not say
 * @throws        UnreadableLogError for a missing file, an unknown format, a broken line (but a file's last line may be
 *                cut: its writer may have been killed), or no request at all
 */
export async function readLogs(files: string[], origin?: string): Promise<Evidence> {
  const evidence = { requests: [], bodies: new Map<string, string | Uint8Array>(), notHttp: 0 } satisfies Evidence
  for (const file of files) await readLog(file, origin, evidence)
  if (evidence.requests.length === 0)
    throw new UnreadableLogError(`${files.join(', ')}: no request in it, so there is nothing to judge`)
  return evidence
}

async function readLog(
  file: string,
  origin: string | undefined,
  evidence: Evidence & { notHttp: number },
): Promise<void> {
  let number = 0
  const once = oncePerText()
  for await (const { texts, whole } of linesOf(file)) {
    for (const text of texts) {
      number++
      if (text === '') continue
      const line = text.startsWith('{') ? readRecordLine(text) : readAccessLine(text, origin)
      if (line === undefined) evidence.notHttp++
      else if ('why' in line) {
        if (!whole && number > 1) return // cut by the end of its writer
        throw new UnreadableLogError(`${file}:${number}: ${line.why}`)
      } else if (line.kind === 'request') {
        line.origin = once(line.origin)
        line.agent = once(line.agent)
        evidence.requests.push(line)
      } else evidence.bodies.set(line.hash, 'body' in line ? line.body : Buffer.from(line.base64, 'base64'))
    }
  }
}

/** The same text as one string: a million lines of a log name a few thousand origins and agents. */
function oncePerText(): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const first = known.get(text)
    if (first !== undefined) return first
    if (known.size < MAX_TEXTS) known.set(text, text)
    return text
  }
}

/** Lines without their ends, by the chunk; `whole` is false for a last line that no newline closes. */
async function* linesOf(file: string): AsyncGenerator<{ texts: string[]; whole: boolean }> {
  const handle = await open(file).catch((error: Error) => {
    throw new UnreadableLogError(`${file}: ${error.message}`)
  })
  const decoder = new TextDecoder()
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  let rest = ''
  try {
    for (;;) {
      const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES).catch((error: Error) => {
        throw new UnreadableLogError(`${file}: ${error.message}`)
      })
      if (bytesRead === 0) break
      const texts = (rest + decoder.decode(chunk.subarray(0, bytesRead), { stream: true })).split('\n')
      rest = texts.pop() ?? ''
      if (rest.length > MAX_LINE_CHARS)
        throw new UnreadableLogError(`${file}: a line of more than ${MAX_LINE_CHARS} characters`)
      yield { texts: texts.map((text) => (text.endsWith('\r') ? text.slice(0, -1) : text)), whole: true }
    }
  } finally {
    await handle.close()
  }
  if (rest !== '') yield { texts: [rest], whole: false }
}

/**
 * Bodies for logs that hold none, from a folder: `HOST.txt`, `HOST_PORT.txt`, `https_HOST.txt`, `https_HOST_PORT.txt`, the
 * most specific first; `robots.txt` for all other origins.
 * @throws UnreadableLogError when the folder cannot be read
 */
export async function readRobotsFolder(folder: string): Promise<NonNullable<Evidence['robotsByOrigin']>> {
  const bodies = new Map<string, Uint8Array>()
  try {
    for (const name of await readdir(folder))
      if (name.endsWith('.txt')) bodies.set(name, await readFile(join(folder, name)))
  } catch (error) {
    throw new UnreadableLogError(`${folder}: ${(error as Error).message}`)
  }
  if (bodies.size === 0) throw new UnreadableLogError(`${folder}: no file that ends in .txt`)
  return {
    get: (origin) => {
      const { protocol, hostname, port } = new URL(origin)
      const host = port === '' ? hostname : `${hostname}_${port}`
      return bodies.get(`${protocol.slice(0, -1)}_${host}.txt`) ?? bodies.get(`${host}.txt`) ?? bodies.get('robots.txt')
    },
  }
}
