/** Turns the list of a crawl into candidates: every line without an outcome, under an id that contains its line number. */
import { createReadStream } from 'node:fs'
import type { Candidate } from '@decorum/client'
import { defined } from '@decorum/runtime/defined'
import { openAppendFile } from '../append-file.ts'
import { linesOf, openInput } from '../lines.ts'
import type { UnusableLines } from '../unusable-lines.ts'
import type { Leftovers } from './leftovers.ts'
import type { OutFolder } from './out-folder.ts'
import type { Tally } from './tally.ts'

/**
 * Lines and redirect targets that have their outcome, or are stored since an earlier run, are skipped. A target with neither was
 * lost by a Redis that lost its latest writes.
 * @param input  standard input or the file, already open; undefined: the list of the folder is opened
 */
export async function* candidatesOf(
  folder: OutFolder,
  input: AsyncIterable<Uint8Array> | undefined,
  tally: Tally,
  leftovers: Leftovers,
  expireMinutes: number | undefined,
  stop: AbortSignal,
  unusable: UnusableLines,
): AsyncGenerator<Candidate> {
  const { agent } = folder.note
  const wanted = (): Pick<Candidate, 'agent' | 'expiresAt'> =>
    defined({ agent, expiresAt: expireMinutes && Date.now() + expireMinutes * 60_000 })
  for (const target of leftovers.targets) {
    if (stop.aborted) return
    if (tally.judge(target.id) === 'new' && !leftovers.has(target.id)) yield { ...target, ...wanted() }
  }
  for await (const line of linesOf(await listOf(folder, input))) {
    if (stop.aborted) return
    const { number, text } = line
    unusable.check(line)
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
  const copy = await openAppendFile(folder.list)
  await copy.close()
  return createReadStream(folder.list)
}

/** Standard input cannot be read twice: each line is on the disk before it is sent. */
async function* keptCopy(input: AsyncIterable<Uint8Array>, folder: OutFolder): AsyncGenerator<Uint8Array> {
  const copy = await openAppendFile(folder.list, { empty: true })
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
