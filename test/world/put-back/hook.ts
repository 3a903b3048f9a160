/** Puts one fault of table.ts back into the code of this process, before anything else is loaded; the files stay as they are. */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { InCode } from './fault.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** @throws Error  when its text is not in the file exactly once: the code has changed, and the table has to follow */
export function changed({ name, file, text, put }: Pick<InCode, 'name' | 'file' | 'text' | 'put'>): string {
  const source = readFileSync(join(ROOT, file), 'utf8')
  const times = source.split(text).length - 1
  if (times !== 1) throw new Error(`'${name}': its text is ${times} times in ${file}`)
  return source.replace(text, () => put)
}

/** A fault in TypeScript. Those in Lua are put into the scripts as they are put together (world.ts). @returns whether its file was loaded */
export function putBack(fault: InCode): () => boolean {
  const url = pathToFileURL(join(ROOT, fault.file)).href
  const source = changed(fault)
  let isLoaded = false
  registerHooks({
    load(found, context, next) {
      if (found !== url) return next(found, context)
      isLoaded = true
      return { format: 'module-typescript', source, shortCircuit: true }
    },
  })
  return () => isLoaded
}

const PLACE = /(?:file:\/\/)?(\/[^\s():]+):\d+:\d+\)?$/

/** @returns where an error was thrown, if that is code of the product: a fault that throws is found by it, and one of the world or of Redis is not */
export function thrownBy({ stack = '' }: Error): string | undefined {
  const ours = stack.split('\n').flatMap((line) => {
    const file = PLACE.exec(line)?.[1]
    return file?.startsWith(`${ROOT}/`) && !file.includes('/node_modules/') ? [file.slice(ROOT.length + 1)] : []
  })
  return /^(packages|services)\//.test(ours[0] ?? '') ? ours[0] : undefined
}
