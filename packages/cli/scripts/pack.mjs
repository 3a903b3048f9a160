/**
 * What `npm pack` in this folder makes of the sources (scripts/pack-package.mjs): the command with all that it uses, in dist.
 *
 * Node does not strip types below node_modules, so the sources are compiled, file by file. The packages of this repository and all
 * that they use are inside, in the versions of package-lock.json: installing it asks no registry and runs no script.
 */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { readBuild } from '../../config/src/fleet-config/build.ts'

const repo = resolve(import.meta.dirname, '../../..')
const lock = JSON.parse(readFileSync(join(repo, 'package-lock.json'), 'utf8')).packages
const dist = join(repo, 'packages/cli/dist')

/** Writes dist. @returns the manifest that is published */
export function build({ dependencies: _, exports: __, ...manifest }) {
  const compiled = compile()
  const { ours, theirs } = whatIsUsed('packages/cli')
  for (const place of ours)
    copyOurs(place, place === 'packages/cli' ? dist : join(dist, 'node_modules', lock[place].name), compiled)
  for (const place of theirs) copyTheirs(place)
  rmSync(compiled, { recursive: true })
  const { name, version, type, engines } = manifest
  writeFileSync(join(dist, 'package.json'), JSON.stringify({ name, version, type, engines })) // of the one above nothing is read from here
  return { ...manifest, bin: { decorum: './dist/src/main.js' }, files: ['dist'] }
}

/** JavaScript of all packages and services, in a folder that has the tree of the repository. */
function compile() {
  const out = mkdtempSync(join(tmpdir(), 'decorum-command-'))
  const config = {
    extends: join(repo, 'tsconfig.base.json'),
    compilerOptions: {
      noEmit: false,
      noCheck: true,
      rootDir: repo,
      outDir: out,
      typeRoots: [join(repo, 'node_modules/@types')],
    },
    include: ['packages', 'services'].map((name) => join(repo, name, '*/src/**/*.ts')),
  }
  writeFileSync(join(out, 'tsconfig.json'), JSON.stringify(config))
  execFileSync(join(repo, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json'], {
    cwd: out,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  return out
}

/** Places in the lock that `root` needs when it runs, as npm resolves them: from the nearest node_modules. */
function whatIsUsed(root) {
  const seen = new Set([root])
  for (const place of seen) {
    const { dependencies = {}, optionalDependencies = {} } = lock[place]
    for (const name of Object.keys(dependencies)) {
      if (Object.hasOwn(optionalDependencies, name)) continue // native helpers of one platform each; all can be done without
      let from = place
      let found
      for (;;) {
        found = `${from === '' ? '' : `${from}/`}node_modules/${name}`
        if (lock[found] !== undefined || from === '') break
        from = from.includes('node_modules/') ? from.replace(/\/?node_modules\/(@[^/]+\/)?[^/]+$/, '') : ''
      }
      if (lock[found] === undefined) throw new Error(`${place} needs ${name}, which is not in the lock`)
      seen.add(lock[found].link ? lock[found].resolved : found)
    }
  }
  const all = [...seen].toSorted(byName)
  return {
    ours: all.filter((place) => !place.includes('node_modules/')),
    theirs: all.filter((place) => place.includes('node_modules/')),
  }
}

function copyOurs(place, to, compiled) {
  mkdirSync(to, { recursive: true })
  cpSync(join(repo, place, 'src'), join(to, 'src'), { recursive: true, filter: (file) => !file.endsWith('.ts') })
  for (const file of readdirSync(join(compiled, place, 'src'), { recursive: true })) {
    const name = String(file)
    if (!name.endsWith('.js')) continue
    const text = readFileSync(join(compiled, place, 'src', name), 'utf8')
    // Processes and workers are started from files beside their own
    const code = text.replace(/(new URL\('[\w./-]+)\.ts('[^\n]*import\.meta\.url\))/g, '$1.js$2')
    const left = /import\.meta\.resolve|['"`][\w./-]+\.ts['"`]/.exec(code.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ''))
    if (left !== null) throw new Error(`${place}/src/${name} names a source file: ${left[0]}`)
    mkdirSync(dirname(join(to, 'src', name)), { recursive: true })
    writeFileSync(join(to, 'src', name), code)
  }
  const { devDependencies: _, scripts: __, files: ___, private: ____, ...manifest } = manifestOf(place)
  manifest.exports = JSON.parse(JSON.stringify(manifest.exports).replaceAll('.ts"', '.js"'))
  if (manifest.bin !== undefined) manifest.bin = JSON.parse(JSON.stringify(manifest.bin).replaceAll('.ts"', '.js"'))
  if (place === 'packages/config') manifest.commit = readBuild(join(repo, place)).commit
  writeFileSync(join(to, 'package.json'), JSON.stringify(manifest, undefined, 2))
}

/** Without what is never run: maps, declarations, tests, examples and pages of documentation. */
function copyTheirs(place) {
  const from = realpathSync(join(repo, place))
  const isNeeded = (file) => {
    const path = relative(from, file)
    if (path.startsWith('node_modules')) return false // its own place in the lock
    if (/(^|\/)\.(npm|git)ignore$/.test(path)) return false // npm would obey it
    if (/(^|\/)(\.github|\.vscode|__tests__|tests?|benchmarks?|examples?)(\/|$)|\.test\.[cm]?js$/.test(path))
      return false
    return !/\.(map|d\.[cm]?ts|[cm]?ts|flow|md|markdown)$/i.test(path) || /licen[cs]e/i.test(path)
  }
  const to = join(dist, place.replace(/^packages\/cli\//, '')) // the command is the package itself
  if (existsSync(to)) throw new Error(`${place}: another version is inside already`)
  cpSync(from, to, { recursive: true, dereference: true, filter: isNeeded })
}

/** The same order on every machine, whatever its language. */
function byName(a, b) {
  return a < b ? -1 : 1
}

function manifestOf(place) {
  return JSON.parse(readFileSync(join(repo, place, 'package.json'), 'utf8'))
}
