/**
 * What `npm pack` and `npm publish` of a package run before and after their work: `pack-package.mjs build` and
 * `pack-package.mjs restore`, in the folder of the package.
 *
 * Inside the repository Node runs src/*.ts as it stands, so `exports` points there. A published package holds JavaScript,
 * and npm knows no second `exports` for that; so the manifest is changed while the tarball is made, and put back
 * afterwards. If a run was killed in between, the next one starts by putting it back.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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

function build() {
  restore()
  const text = readFileSync(manifest, 'utf8')
  const { scripts: _, ...published } = JSON.parse(text)
  for (const folder of [dist, neighbours]) rmSync(folder, { recursive: true, force: true })
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
  for (const [path, source] of Object.entries(JSON.parse(text).exports))
    published.exports[path] = { types: `${built(source)}.d.ts`, default: `${built(source)}.js` }
  for (const [name, source] of Object.entries(published.bin ?? {})) published.bin[name] = `${built(source)}.js`
  for (const folder of [dist, join(root, 'src')]) readableByAll(folder)
  published.types = './dist/index.d.ts'
  writeFileSync(kept, text)
  writeFileSync(manifest, `${JSON.stringify(published, undefined, 2)}\n`)
}

if (process.argv[2] === 'build') build()
else if (process.argv[2] === 'restore') restore()
else {
  console.error('usage: pack-package.mjs build|restore')
  process.exitCode = 2
}
