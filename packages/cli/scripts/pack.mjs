/**
 * `node packages/cli/scripts/pack.mjs [FOLDER]`: the tarball of the command `decorum`, written to FOLDER (default: where one stands).
 *
 * Node does not strip types below node_modules, so the sources are compiled, file by file. The packages of this repository and all
 * that they use are inside, in the versions of package-lock.json: installing it asks no registry and runs no script. All of it
 * is made in a folder of its own: the working tree is not touched.
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
import { readableByAll } from '../../../scripts/readable.mjs'
import { readBuild } from '../../fleet-config/src/build.ts'

const repo = resolve(import.meta.dirname, '../../..')
const lock = JSON.parse(readFileSync(join(repo, 'package-lock.json'), 'utf8')).packages
const stage = mkdtempSync(join(tmpdir(), 'decorum-command-'))
try {
  const compiled = compile()
  const { ours, theirs } = whatIsUsed('packages/cli')
  for (const place of ours)
    copyOurs(place, place === 'packages/cli' ? stage : join(stage, 'node_modules', lock[place].name), compiled)
  for (const place of theirs) copyTheirs(place)
  writeManifest([...ours, ...theirs])
  cpSync(join(repo, 'packages/client/LICENSE'), join(stage, 'LICENSE'))
  readableByAll(stage)
  const into = resolve(process.argv[2] ?? '.')
  mkdirSync(into, { recursive: true })
  const packed = run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', into], stage).trim()
  console.log(join(into, packed))
} finally {
  rmSync(stage, { recursive: true, force: true })
}

/** JavaScript of all packages and services, in a folder that has the tree of the repository. */
function compile() {
  const out = join(stage, '.compiled')
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
  writeFileSync(join(stage, 'tsconfig.json'), JSON.stringify(config))
  run(join(repo, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json'], stage)
  rmSync(join(stage, 'tsconfig.json'))
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
  if (place === 'packages/fleet-config') manifest.commit = readBuild(join(repo, place)).commit
  writeFileSync(join(to, 'package.json'), JSON.stringify(manifest, undefined, 2))
}

/** Without what is never run: maps, declarations, tests, examples and pages of documentation. */
function copyTheirs(place) {
  const from = realpathSync(join(repo, place))
  const isNeeded = (file) => {
    const path = relative(from, file)
    if (path.startsWith('node_modules')) return false // its own place in the lock
    if (/(^|\/)(\.github|\.vscode|__tests__|tests?|benchmarks?|examples?)(\/|$)|\.test\.[cm]?js$/.test(path))
      return false
    return !/\.(map|d\.[cm]?ts|[cm]?ts|flow|md|markdown)$/i.test(path) || /licen[cs]e/i.test(path)
  }
  const to = join(stage, place.replace(/^packages\/cli\//, '')) // the command is the package itself
  if (existsSync(to)) throw new Error(`${place}: another version is inside already`)
  cpSync(from, to, { recursive: true, dereference: true, filter: isNeeded })
}

function writeManifest(places) {
  const { version, license, homepage, repository, bugs } = {
    ...manifestOf('packages/client'),
    ...manifestOf('packages/cli'),
  }
  const isTop = (place) => /^(packages|services)\/[^/]+$|^(packages\/cli\/)?node_modules\/(@[^/]+\/)?[^/]+$/.test(place)
  const nameOf = (place) => lock[place].name ?? place.replace(/^.*node_modules\//, '')
  const inside = [...new Set(places.filter(isTop).map(nameOf))]
    .filter((name) => name !== '@decorum/cli')
    .toSorted(byName)
  const versionOf = (name) =>
    JSON.parse(readFileSync(join(stage, 'node_modules', name, 'package.json'), 'utf8')).version
  const manifest = {
    name: 'decorum',
    version,
    description: 'A politeness gateway for distributed crawlers: every site sees one well-behaved visitor.',
    license,
    homepage: homepage.replace('/tree/main/packages/client', ''),
    repository: { type: repository.type, url: repository.url },
    bugs,
    type: 'module',
    engines: { node: '>=24' },
    bin: { decorum: './src/main.js' },
    files: ['src'],
    dependencies: Object.fromEntries(inside.map((name) => [name, versionOf(name)])),
    bundleDependencies: inside,
  }
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  cpSync(join(repo, 'packages/cli/README.md'), join(stage, 'README.md'))
  rmSync(join(stage, '.compiled'), { recursive: true, force: true })
}

/** The same order on every machine, whatever its language. */
function byName(a, b) {
  return a < b ? -1 : 1
}

function manifestOf(place) {
  return JSON.parse(readFileSync(join(repo, place, 'package.json'), 'utf8'))
}

function run(command, args, cwd) {
  return execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === 'win32',
  })
}
