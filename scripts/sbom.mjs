/**
 * What the fleet is made of, as CycloneDX 1.6: `node scripts/sbom.mjs > decorum.cdx.json`. From the lock file alone, so it says what `npm ci
 * --omit=dev` installs, with the hash of each tarball, for every platform. `--licences` prints the licences instead, each with its packages.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './say.mjs'

const NOT_SAID = 'not said by the lock file'

/** Where Node finds a package from a folder, as the lock file has it; undefined for what is not installed. */
function placeOf(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const place = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (packages[place] !== undefined) return packages[place].link ? packages[place].resolved : place
    if (at === '') return undefined
    if (!at.includes('node_modules/')) at = ''
  }
}

/**
 * Packages of others that a package or service of ours needs at run time, each once, sorted.
 * @returns {{ name: string, version: string, license: string, integrity: string }[]}
 */
export function components({ packages }) {
  const ours = Object.keys(packages).filter((path) => /^(packages|services)\/[^/]+$/.test(path))
  const reached = new Set(ours)
  for (const path of reached) {
    const { dependencies, optionalDependencies } = packages[path]
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const place = placeOf(packages, path, name)
      if (place !== undefined) reached.add(place)
    }
  }
  const found = new Map()
  for (const path of reached) {
    if (ours.includes(path)) continue
    const { version, license = NOT_SAID, integrity = '' } = packages[path]
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    found.set(`${name}@${version}`, { name, version, license, integrity })
  }
  return [...found.keys()].sort().map((key) => found.get(key))
}

/** @returns a document that says the same for the same lock file: it has no date and no serial number */
export function sbom(lock, version) {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', name: 'decorum', version, 'bom-ref': `decorum@${version}` } },
    components: components(lock).map((one) => ({
      type: 'library',
      name: one.name,
      version: one.version,
      purl: `pkg:npm/${one.name.replace('@', '%40')}@${one.version}`,
      'bom-ref': `${one.name}@${one.version}`,
      ...(one.license === NOT_SAID ? {} : { licenses: [licenceOf(one.license)] }),
      ...(one.integrity === '' ? {} : { hashes: [hashOf(one.integrity)] }),
    })),
  }
}

const licenceOf = (text) => (text.includes(' ') ? { expression: text } : { license: { id: text } })

function hashOf(integrity) {
  const [algorithm, digest] = integrity.split('-')
  return { alg: `SHA-${algorithm.slice(3)}`, content: Buffer.from(digest, 'base64').toString('hex') }
}

/** @returns {Map<string, string[]>} licence → packages */
export function licences(lock) {
  return Map.groupBy(components(lock), (one) => one.license)
}

if (process.argv[1] === import.meta.filename) {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  if (process.argv.includes('--licences'))
    for (const [licence, all] of [...licences(lock)].sort())
      process.stdout.write(`${licence}: ${all.map(({ name, version }) => `${name} ${version}`).join(', ')}\n`)
  else {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    process.stdout.write(`${JSON.stringify(sbom(lock, version), undefined, 2)}\n`)
  }
}
