/**
 * Three modules of ours load a part of a library by a path that the library does not promise, for what its index costs at each start
 * (docs/decisions/0010-compiled-code-is-kept.md). Each of these parts must be the one that the index exports; what has moved is named here.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const require = createRequire(import.meta.url)

/** A library's own folder, in an import of whichever kind: `undici/lib/core/errors.js`. */
const DEEP =
  /(?:\bfrom\s|\bimport\s|\bimport\(|\brequire\()\s*['"`]((?:@[\w.-]+\/)?[\w-]+)\/((?:lib|dist|src|build)\/[^'"`]+)/g
const sources = execFileSync('git', ['ls-files', 'packages', 'services', 'integrations', 'scripts', 'bench', 'test'], {
  cwd: root,
  encoding: 'utf8',
}).match(/^.+\.(ts|mjs|js)$/gm)
const found = (sources ?? []).flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(DEEP)].map(([, library = '', path = '']) => ({
    file,
    library,
    path: `${library}/${path}`,
  })),
)
const places = Map.groupBy(found, ({ file }) => file)

test('BullMQ, undici and the client of Prometheus are the only libraries that are loaded in parts, in one place each', () => {
  expect([...places.values()].map(([one]) => one?.library ?? '').sort()).toEqual([
    '@prometheus-io/client',
    'bullmq',
    'undici',
  ])
})

// The index does not export the default metrics one by one: test/runtime/loaded.test.ts compares them with those that it collects.
test.each(found.filter(({ path }) => !path.includes('/lib/metrics/')))(
  '$path is what $library exports',
  ({ library, path }) => {
    const part: unknown = require(path)
    const exported = Object.values(require(library) as object)
    const members = exported.includes(part) ? [part] : Object.values(part as object)
    expect(members.length).toBeGreaterThan(0)
    for (const member of members) expect(exported).toContain(member)
  },
)
