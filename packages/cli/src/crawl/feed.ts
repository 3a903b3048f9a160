/** The list of a crawl as candidates: every line that has no outcome yet, under an id that names its line. */
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Candidate } from '@decorum/client'
import { linesOf, openInput } from '../lines.ts'
import type { OutFolder } from './out-folder.ts'
import { cutBehindLastLine } from './outcome-file.ts'
import type { Tally } from './tally.ts'

/**
 * Lines that have their outcome are passed over; a line that is stored already is absorbed by the gateway.
 * @param input  standard input or the file, already open; undefined: the folder knows its list
 */
export async function* candidatesOf(
  folder: OutFolder,
  input: AsyncIterable<Uint8Array> | undefined,
  tally: Tally,
  expireMinutes: number | undefined,
  stop: AbortSignal,
): AsyncGenerator<Candidate> {
  const { agent } = folder.note
  for await (const { number, text } of linesOf(await listOf(folder, input))) {
    if (stop.aborted) return
    tally.expect(number, text)
    if (tally.hasOutcome(number)) continue
    yield {
      url: text,
      id: tally.idOf(number),
      ...(agent === undefined ? {} : { agent }),
      ...(expireMinutes === undefined ? {} : { expiresAt: Date.now() + expireMinutes * 60_000 }),
    }
  }
}

async function listOf(
  folder: OutFolder,
  input: AsyncIterable<Uint8Array> | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  if (folder.note.file !== '-') return input ?? openInput(folder.list)
  if (input !== undefined) return keptCopy(input, folder.list)
  const copy = await open(folder.list, 'r+')
  await cutBehindLastLine(copy)
  await copy.close()
  return createReadStream(folder.list)
}

/** Standard input cannot be read twice: what goes on is on the disk before. The copy ends with whole lines only. */
async function* keptCopy(input: AsyncIterable<Uint8Array>, path: string): AsyncGenerator<Uint8Array> {
  const copy: FileHandle = await open(path, 'w')
  let last = 0x0a
  try {
    for await (const chunk of input) {
      await copy.appendFile(chunk)
      last = chunk.at(-1) ?? last
      yield chunk
    }
    if (last !== 0x0a) await copy.appendFile('\n')
  } finally {
    await copy.close()
  }
}
