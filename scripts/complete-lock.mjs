/**
 * Completes package-lock.json after dependencies were changed: `npm install`, then `node scripts/complete-lock.mjs`.
 * npm leaves out optional packages that its registry does not have (binaries for other platforms, on a mirror), and
 * `npm ci` then refuses the lock everywhere. Each missing one is named here with its version, which is all that npm needs
 * to pass it over, and for a platform that does not exist: without an integrity hash nothing may be installed anywhere.
 * `npm install` against a registry that has them all writes entries that the platforms concerned can use.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const FILE = new URL('../package-lock.json', import.meta.url)
const NOWHERE = ['none']

/** @returns names of optional packages that the lock's own packages ask for and that it does not hold */
export function missingFrom(lock) {
  const missing = []
  for (const [at, entry] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const place = `node_modules/${name}`
      if (lock.packages[place] || lock.packages[`${at}/${place}`]) continue
      missing.push({ place, name, version, dev: entry.dev === true })
    }
  }
  return missing
}

/** @returns places of packages that could be installed somewhere without anything to verify them by */
export function unverifiedIn(lock) {
  return Object.entries(lock.packages)
    .filter(([place, { link, integrity, os }]) => {
      const isOurs = link || !place.includes('node_modules/')
      return !isOurs && !integrity && os?.join() !== NOWHERE.join()
    })
    .map(([place]) => place)
}

if (import.meta.filename === process.argv[1]) {
  const lock = JSON.parse(readFileSync(FILE, 'utf8'))
  const missing = missingFrom(lock)
  for (const { place, version, dev } of missing) {
    lock.packages[place] = { version, ...(dev ? { dev } : {}), optional: true }
  }
  const unverified = unverifiedIn(lock)
  for (const place of unverified) {
    const { cpu: _cpu, libc: _libc, ...entry } = lock.packages[place]
    if (!entry.optional) throw new Error(`${place} has no integrity hash and is not optional: npm install writes one`)
    lock.packages[place] = { ...entry, os: NOWHERE }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`)
  console.log(`${missing.length} optional packages named, ${unverified.length} that cannot be verified shut out`)
}
