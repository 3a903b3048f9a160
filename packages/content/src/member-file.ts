/** The bytes of one gzip member in a folder of this machine. */
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { ContentError } from './errors.ts'
import { type Reference, thisHost } from './reference.ts'

/** The place of a member. `host`: of the machine that wrote the file, if a folder is named. */
export type FileMember = Pick<Reference, 'name' | 'offset' | 'length'> & { host?: string }

/** Size of one read: the largest size of a small member, which is thus read in one call. */
const CHUNK_BYTES = 256 * 1024

/**
 * @param from  first byte of the member that is wanted. @param to  last one
 * @throws ContentError `gone`, `elsewhere` (the file is on another machine), `damaged` (the file is too short); before the first piece
 */
export async function* readFileMember(
  folder: string,
  member: FileMember,
  from = 0,
  to = member.length - 1,
): AsyncGenerator<Uint8Array> {
  const path = join(folder, member.name)
  const handle = await openFinishedOrNot(path, member)
  try {
    const tooShort = new ContentError('damaged', `${path} ends before the record does`)
    // For a single piece, `bytesRead` shows this without the extra call.
    if (to - from >= CHUNK_BYTES && (await handle.stat()).size < member.offset + member.length) throw tooShort
    for (let at = from; at <= to; at += CHUNK_BYTES) {
      const length = Math.min(to + 1 - at, CHUNK_BYTES)
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, member.offset + at)
      if (bytesRead < length) throw tooShort
      yield buffer
    }
  } finally {
    await handle.close()
  }
}

/** Opens the finished file, or the one still being written (`.open`): it is renamed once, so the finished name is tried again after it. */
async function openFinishedOrNot(path: string, { host = '' }: FileMember): Promise<FileHandle> {
  const handle = (await openIf(path)) ?? (await openIf(`${path}.open`)) ?? (await openIf(path))
  if (handle !== undefined) return handle
  if (host !== '' && host !== thisHost())
    throw new ContentError(
      'elsewhere',
      `${path} is on ${host} and this is ${thisHost()}: read it through the console's API (option \`via\`)`,
    )
  throw new ContentError('gone', `${path} is not there any more`)
}

async function openIf(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new ContentError('unavailable', `${path} cannot be read: ${message}`, error)
  }
}
