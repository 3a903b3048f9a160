/** The bill of materials names what is installed without development, and nothing of it has a licence that we would have to ask about. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { components, licences, sbom } from '../../../scripts/sbom.mjs'

const root = join(import.meta.dirname, '..', '..', '..')
const read = (path: string) =>
  JSON.parse(readFileSync(join(root, path), 'utf8')) as { dependencies?: Record<string, string> }
const lock = read('package-lock.json')

/** Others are looked at by a person first, then added here. */
const LICENCES = new Set([
  'MIT',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  '(MIT AND Zlib)',
  '(MIT OR CC0-1.0)',
])
/** Of packages for single platforms, whose entries the lock file completes without one: those of msgpackr-extract, MIT. */
const UNSAID = /^@msgpackr-extract\//

test('every direct dependency of a package or service is in it, with its version and hash, and none of development', () => {
  const found = new Map(sbom(lock, '0').components.map((one) => [`${one.name}@${one.version}`, one]))
  for (const folder of ['packages', 'services'])
    for (const name of readdirSync(join(root, folder)))
      for (const [dependency, version] of Object.entries(read(join(folder, name, 'package.json')).dependencies ?? {}))
        if (!dependency.startsWith('@decorum/'))
          expect(found.get(`${dependency}@${version}`)?.hashes?.[0]?.content).toMatch(/^[0-9a-f]{128}$/)
  expect([...found.keys()].filter((key) => /^(vitest|typescript|oxlint|knip)/.test(key))).toEqual([])
})

test('every licence is one of those that were looked at', () => {
  for (const [licence, all] of licences(lock)) {
    const unsaid = all.filter(({ name }) => !UNSAID.test(name))
    if (unsaid.length > 0) expect(LICENCES, unsaid.map(({ name }) => name).join()).toContain(licence)
  }
  expect(components(lock).length).toBeGreaterThan(100)
})
