/** The bytes of one gzip member in a folder of this machine. */
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { ContentError } from './errors.ts'
import type { Reference } from './reference.ts'
import { thisHost } from './reference.ts'

export type OpenMember = { handle: FileHandle; offset: number; length: number }

/**
 * Opens the finished file, or the one still being written (`.open`): it is renamed once, so the finished name is tried again after it.
 * @throws ContentError `gone`, `elsewhere` (the file is on another machine), `damaged` (the file is too short)
 */
export async function openMember(
  folder: string,
  reference: Pick<Reference, 'kind' | 'name' | 'offset' | 'length'> & { host?: string },
  { isRead = false }: { /** for readMember, which detects an early end itself */ isRead?: boolean } = {},
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

/** Reads the whole member; for small members. */
export async function readMember({ handle, offset, length }: OpenMember): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length;) {
    const { bytesRead } = await handle.read(bytes, at, length - at, offset + at)
    if (bytesRead === 0) throw new ContentError('damaged', 'the file became shorter while it was read')
    at += bytesRead
  }
  return bytes
}
