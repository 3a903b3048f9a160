/**
 * Completes package-lock.json after dependencies were changed: `npm install`, then `node scripts/complete-lock.mjs`.
 * npm leaves out optional packages that its registry does not have (binaries for other platforms, on a mirror), and
 * `npm ci` then refuses the lock everywhere. Each missing one is named here with its version and platform, which is all
 * that npm needs to pass it over.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const FILE = new URL('../package-lock.json', import.meta.url)
const OS = ['darwin', 'win32', 'linux', 'android', 'freebsd', 'openbsd', 'netbsd', 'sunos', 'aix', 'openharmony']
const CPU = ['arm64', 'x64', 'ia32', 'arm', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'universal']

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

function platformOf(name) {
  const words = name.split(/[/-]/)
  const os = OS.filter((one) => words.includes(one))
  const cpu = CPU.filter((one) => words.includes(one) && one !== 'universal')
  const musl = words.some((word) => word.startsWith('musl'))
  return { ...(os.length > 0 ? { os } : {}), ...(cpu.length > 0 ? { cpu } : {}), ...(musl ? { libc: ['musl'] } : {}) }
}

if (import.meta.filename === process.argv[1]) {
  const lock = JSON.parse(readFileSync(FILE, 'utf8'))
  const missing = missingFrom(lock)
  for (const { place, name, version, dev } of missing) {
    lock.packages[place] = { version, ...platformOf(name), ...(dev ? { dev } : {}), optional: true }
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`)
  console.log(`${missing.length} optional packages of other platforms named`)
}
