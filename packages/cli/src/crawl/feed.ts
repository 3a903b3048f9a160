/** The list of a crawl as candidates: every line that has no outcome yet, under an id that names its line. */
import { createReadStream } from 'node:fs'
import type { Candidate } from '@decorum/client'
import { AppendFile } from '../append-file.ts'
import { linesOf, openInput } from '../lines.ts'
import type { LinesWithoutScheme } from '../without-scheme.ts'
import type { Leftovers } from './leftovers.ts'
import type { OutFolder } from './out-folder.ts'
import type { Tally } from './tally.ts'

/**
 * Lines and targets of redirects that have their outcome, or are stored since an earlier run, are passed over. A target that is
 * neither was forgotten by a Redis that lost its latest writes.
 * @param input  standard input or the file, already open; undefined: the folder knows its list
 */
export async function* candidatesOf(
  folder: OutFolder,
  input: AsyncIterable<Uint8Array> | undefined,
  tally: Tally,
  leftovers: Leftovers,
  expireMinutes: number | undefined,
  stop: AbortSignal,
  withoutScheme: LinesWithoutScheme,
): AsyncGenerator<Candidate> {
  const { agent } = folder.note
  const wanted = (): Pick<Candidate, 'agent' | 'expiresAt'> => ({
    ...(agent === undefined ? {} : { agent }),
    ...(expireMinutes === undefined ? {} : { expiresAt: Date.now() + expireMinutes * 60_000 }),
  })
  for (const target of leftovers.targets) {
    if (stop.aborted) return
    if (tally.judge(target.id) === 'new' && !leftovers.has(target.id)) yield { ...target, ...wanted() }
  }
  for await (const line of linesOf(await listOf(folder, input))) {
    if (stop.aborted) return
    const { number, text } = line
    withoutScheme.add(line)
    tally.expect(number, text)
    const id = tally.idOf(number)
    if (!tally.hasOutcome(number) && !leftovers.has(id)) yield { url: text, id, ...wanted() }
  }
}

async function listOf(
  folder: OutFolder,
  input: AsyncIterable<Uint8Array> | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  if (folder.note.file !== '-') return input ?? openInput(folder.list)
  if (input !== undefined) return keptCopy(input, folder)
  const copy = await AppendFile.open(folder.list)
  await copy.close()
  return createReadStream(folder.list)
}

/** Standard input cannot be read twice: what goes on is on the disk before. */
async function* keptCopy(input: AsyncIterable<Uint8Array>, folder: OutFolder): AsyncGenerator<Uint8Array> {
  const copy = await AppendFile.open(folder.list, { empty: true })
  let last: number | undefined
  try {
    for await (const chunk of input) {
      await copy.append(chunk)
      last = chunk.at(-1) ?? last
      yield chunk
    }
    if (last !== undefined && last !== 0x0a) await copy.append('\n')
  } finally {
    await copy.close()
  }
  await folder.listIsWhole()
}
