/**
 * Finds the bundle of a process, one file with all its modules (scripts/bundle.mjs), if it was made from exactly these sources. This module
 * is loaded first, so it imports none of ours.
 */
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

type Manifest = {
  root: string
  files: [path: string, size: number, mtimeMs: number][]
  entries: Record<string, string>
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * @param module  URL of a source file
 * @param tree    folder of the repository, with a slash at its end
 * @returns the file to load instead: its bundle, or the module itself if there is none, or if sources have changed since
 */
export function bundled(module: URL, tree = ROOT): string {
  if (process.env.DECORUM_BUNDLE === 'no') return module.href
  try {
    const folder = `${tree}.cache/bundle/`
    const { root, files, entries }: Manifest = JSON.parse(readFileSync(`${folder}manifest.json`, 'utf8'))
    const entry = entries[fileURLToPath(module).slice(tree.length)]
    if (entry === undefined || `${root}/` !== tree) return module.href
    for (const [path, size, mtimeMs] of files) {
      const found = statSync(tree + path)
      if (found.size !== size || found.mtimeMs !== mtimeMs) return module.href
    }
    return pathToFileURL(folder + entry).href
  } catch {
    return module.href
  }
}
