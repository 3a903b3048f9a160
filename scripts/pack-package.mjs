/**
 * What `npm pack` and `npm publish` of a package run before and after their work: `pack-package.mjs build` and
 * `pack-package.mjs restore`, in the folder of the package. A package with a pack.mjs among its scripts makes its dist itself; the others are
 * compiled module by module. The root's .npmrc turns scripts off, so these packages are no workspaces: npm takes each for a project.
 *
 * Inside the repository Node runs src/*.ts as it stands, so `exports` points there. A published package holds JavaScript,
 * and npm knows no second `exports` for that; so the manifest is changed while the tarball is made, and put back
 * afterwards. If a run was killed in between, the next one starts by putting it back.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readableByAll } from './readable.mjs'

const root = process.cwd()
const manifest = join(root, 'package.json')
const kept = join(root, '.package.workspace.json')
const dist = join(root, 'dist')
/** Declarations of the packages beside this one that it imports; its tsconfig.build.json finds them here. */
const neighbours = join(root, '.neighbours')
const OURS = '@decorum/'

function restore() {
  if (existsSync(kept)) renameSync(kept, manifest)
}

const compile = (...args) =>
  execFileSync('tsc', args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })

async function build() {
  restore()
  const text = readFileSync(manifest, 'utf8')
  const { scripts: _, private: __, ...published } = JSON.parse(text)
  rmSync(dist, { recursive: true, force: true })
  const own = join(root, 'scripts/pack.mjs')
  const made = existsSync(own)
    ? await (await import(pathToFileURL(own).href)).build(published)
    : compiled(published, JSON.parse(text))
  for (const folder of made.files) readableByAll(join(root, folder))
  renameSync(manifest, kept)
  writeFileSync(manifest, `${JSON.stringify(made, undefined, 2)}\n`)
  chmodSync(manifest, 0o644)
}

/** Writes dist with a module for each source. @returns the manifest that is published */
function compiled(published, { exports }) {
  rmSync(neighbours, { recursive: true, force: true })
  for (const name of Object.keys(published.dependencies).filter((dependency) => dependency.startsWith(OURS))) {
    const folder = name.slice(OURS.length)
    const to = join(neighbours, folder)
    compile('-p', join(root, '..', folder, 'tsconfig.build.json'), '--emitDeclarationOnly', '--outDir', to)
  }
  compile('-p', 'tsconfig.build.json')
  rmSync(neighbours, { recursive: true, force: true })
  // The compiler rewrites './x.ts' to './x.js' in JavaScript alone; declarations get the same.
  for (const name of readdirSync(dist, { recursive: true }).filter((file) => file.endsWith('.d.ts'))) {
    const file = join(dist, name)
    writeFileSync(file, readFileSync(file, 'utf8').replace(/(from '\.{1,2}\/[\w./-]+)\.ts'/g, "$1.js'"))
  }
  const built = (source) => source.replace(/^\.\/src\/(.*)\.ts$/, './dist/$1')
  published.exports = { './package.json': './package.json' }
  for (const [path, source] of Object.entries(exports))
    published.exports[path] = { types: `${built(source)}.d.ts`, default: `${built(source)}.js` }
  for (const [name, source] of Object.entries(published.bin ?? {})) published.bin[name] = `${built(source)}.js`
  published.types = './dist/index.d.ts'
  return published
}

if (process.argv[2] === 'build') await build()
else if (process.argv[2] === 'restore') restore()
else {
  console.error('usage: pack-package.mjs build|restore')
  process.exitCode = 2
}
