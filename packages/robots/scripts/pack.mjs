/**
 * What `npm pack` and `npm publish` run around their work: `pack.mjs build` before it, `pack.mjs restore` behind it.
 *
 * Inside the workspace Node runs src/*.ts as it stands, so `exports` points there. A published package holds JavaScript,
 * and npm knows no second `exports` for that; so the manifest is changed while the tarball is made and put back behind.
 * If a run was killed in between, the next one starts by putting it back.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const manifest = join(root, 'package.json')
const kept = join(root, '.package.workspace.json')
const dist = join(root, 'dist')

function restore() {
  if (existsSync(kept)) renameSync(kept, manifest)
}

function build() {
  restore()
  rmSync(dist, { recursive: true, force: true })
  execFileSync('tsc', ['-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  // The compiler rewrites './x.ts' to './x.js' in JavaScript alone; declarations get the same.
  for (const name of readdirSync(dist).filter((file) => file.endsWith('.d.ts'))) {
    const file = join(dist, name)
    writeFileSync(file, readFileSync(file, 'utf8').replace(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"))
  }
  const text = readFileSync(manifest, 'utf8')
  const { scripts: _, ...published } = JSON.parse(text)
  const built = (source) => source.replace(/^\.\/src\/(.*)\.ts$/, './dist/$1')
  published.exports = { './package.json': './package.json' }
  for (const [path, source] of Object.entries(JSON.parse(text).exports))
    published.exports[path] = { types: `${built(source)}.d.ts`, default: `${built(source)}.js` }
  for (const [name, source] of Object.entries(published.bin)) published.bin[name] = `${built(source)}.js`
  published.types = './dist/index.d.ts'
  writeFileSync(kept, text)
  writeFileSync(manifest, `${JSON.stringify(published, undefined, 2)}\n`)
}

if (process.argv[2] === 'build') build()
else if (process.argv[2] === 'restore') restore()
else {
  console.error('usage: pack.mjs build|restore')
  process.exitCode = 2
}
