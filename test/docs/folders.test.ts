/** The folders of a package, and the files beside them, import each other in one direction, so that each can be read before the next. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'packages', 'services'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => /^(packages|services)\/[^/]+\/src\/.*\.ts$/.test(path) && existsSync(join(root, path)))

/** A folder directly below `src`, or a file there. */
const partOf = (path: string): string => path.split('/').slice(0, 4).join('/')

/** Static and dynamic imports and re-exports, those of types included, of another file of the same package. */
const IMPORT = /\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g

function importsOf(room: string): Map<string, Map<string, string>> {
  const imports = new Map<string, Map<string, string>>()
  for (const path of files.filter((file) => file.startsWith(`${room}/src/`)))
    for (const [, to = ''] of readFileSync(join(root, path), 'utf8').matchAll(IMPORT)) {
      const [own, other] = [partOf(path), partOf(normalize(join(dirname(path), to)))]
      if (own !== other) imports.set(own, (imports.get(own) ?? new Map()).set(other, `${path} imports ${to}`))
    }
  return imports
}

/** Parts that are reached again from themselves, by the import that begins each such way. */
function circles(imports: Map<string, Map<string, string>>): string[] {
  const found: string[] = []
  for (const [part, others] of imports)
    for (const [other, why] of others) if (reaches(imports, other, part)) found.push(why)
  return found
}

function reaches(imports: Map<string, Map<string, string>>, from: string, to: string): boolean {
  const seen = new Set<string>()
  const open = [from]
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (part === to) return true
    if (seen.has(part)) continue
    seen.add(part)
    open.push(...(imports.get(part)?.keys() ?? []))
  }
  return false
}

test.each(['services/fetcher', 'services/permits', 'packages/sending'])(
  'the parts of %s import downwards only',
  (room) => {
    expect(circles(importsOf(room))).toEqual([])
  },
)
