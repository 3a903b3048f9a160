/** The bytes of one gzip member in a folder of this machine. */
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { ContentError } from './errors.ts'
import type { Reference } from './reference.ts'
import { thisHost } from './reference.ts'

export type OpenMember = { handle: FileHandle; offset: number; length: number }

/**
 * The finished file, or the one that is being written: it is renamed once, so that after `.open` the finished one is tried again.
 * @throws ContentError `gone`, `elsewhere` (a file of another machine is not here), `damaged` (the file ends before)
 */
export async function openMember(
  folder: string,
  reference: Pick<Reference, 'kind' | 'name' | 'offset' | 'length'> & { host?: string },
  { isRead = false }: { /** by readMember, which notices an early end by itself */ isRead?: boolean } = {},
): Promise<OpenMember> {
  const { name, offset, length } = reference
  const path = join(folder, name)
  const handle = (await openIf(path)) ?? (await openIf(`${path}.open`)) ?? (await openIf(path))
  if (handle === undefined) throw missing(path, reference)
  if (isRead) return { handle, offset, length }
  try {
    const { size } = await handle.stat()
    if (size < offset + length)
      throw new ContentError('damaged', `${path} has ${size} bytes, and the record should end at ${offset + length}`)
    return { handle, offset, length }
  } catch (error) {
    await handle.close()
    throw error
  }
}

function missing(path: string, { kind, host = '' }: Parameters<typeof openMember>[1]): ContentError {
  if (kind === 'file' && host !== '' && host !== thisHost())
    return new ContentError(
      'elsewhere',
      `${path} is on ${host} and this is ${thisHost()}: read it through the console's API (option \`via\`)`,
    )
  return new ContentError('gone', `${path} is not there any more`)
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

/** All of it; for members that are small. */
export async function readMember({ handle, offset, length }: OpenMember): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length;) {
    const { bytesRead } = await handle.read(bytes, at, length - at, offset + at)
    if (bytesRead === 0) throw new ContentError('damaged', 'the file became shorter while it was read')
    at += bytesRead
  }
  return bytes
}
