/**
 * What `npm pack` in this folder makes of the sources (scripts/pack-package.mjs): one file of JavaScript for Node 20 and later, which holds
 * the workspace packages and everything that they use, so that installing it installs nothing else; and declarations beside it.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { build as bundled } from 'esbuild'

const repo = resolve(import.meta.dirname, '../../..')
const root = join(repo, 'packages/client')
const OLDER_NODE = join(root, 'scripts/older-node.mjs')

/** Writes dist. @returns the manifest that is published */
export async function build({ dependencies: _, ...manifest }) {
  await bundle()
  declare()
  const types = './dist/types/client/src/index.d.ts'
  return {
    ...manifest,
    exports: { '.': { types, default: './dist/index.js' }, './package.json': './package.json' },
    types,
    files: ['dist'],
  }
}
async function bundle() {
  const { metafile } = await bundled({
    entryPoints: [join(root, 'src/index.ts')],
    outfile: join(root, 'dist/index.js'),
    absWorkingDir: repo,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    legalComments: 'none', // dist/THIRD-PARTY has them all
    logLevel: 'warning',
    metafile: true,
    plugins: [{ name: 'with what is required', setup: takeRequired }],
    inject: [OLDER_NODE],
    define: { 'Promise.withResolvers': 'withResolvers', 'Map.groupBy': 'groupBy', 'URL.parse': 'parseUrl' },
    // CommonJS packages inside ask for Node's own modules this way
    banner: {
      js: "import { createRequire as createRequireOf } from 'node:module'\nconst require = createRequireOf(import.meta.url)",
    },
  })
  const [output] = Object.values(metafile.outputs)
  writeFileSync(join(root, 'dist/THIRD-PARTY'), licences(Object.keys(output.inputs)))
}

/**
 * Inside the repository scripts for Redis lie in files; the bundle holds their texts. And some libraries are taken by a `require` of our own, in part or late, so that a process loads no more than it needs
 * (docs/decisions/0010-compiled-code-is-kept.md). Without that line the bundler knows its `require`, and all is in the one file.
 */
function takeRequired({ onLoad }) {
  onLoad({ filter: /[\\/]packages[\\/][\w-]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
    const text = readFileSync(path, 'utf8')
    const contents = text
      .replace(/^const require = createRequire\(import\.meta\.url\)$/m, '')
      .replace("import { hash } from 'node:crypto'", `import { hash } from ${JSON.stringify(OLDER_NODE)}`)
      .replace(/new URL\('(\.\/lua\/[\w/]*)', import\.meta\.url\)/g, (_, folder) =>
        textsOf(join(dirname(path), folder)),
      )
    return { contents, loader: 'ts' }
  })
}

/** The scripts of a folder by their names, as code. */
function textsOf(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith('.lua'))
  const named = files.map((file) => [
    file.replaceAll('\\', '/').slice(0, -'.lua'.length),
    readFileSync(join(folder, file), 'utf8'),
  ])
  return JSON.stringify(Object.fromEntries(named))
}

/** Name, version and licence text of every package that is inside. */
function licences(files) {
  const folders = new Set(
    files.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]).filter(Boolean),
  )
  const parts = [...folders]
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((folder) => {
      const place = join(repo, folder)
      const { name, version, license } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))
      const text = readdirSync(place).find((file) => /^licen[cs]e/i.test(file))
      return `${name} ${version} (${license})\n\n${text === undefined ? '' : readFileSync(join(place, text), 'utf8').trim()}\n`
    })
  return `dist/index.js holds these packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

/** What the public types reach, and nothing else; names of workspace packages become paths. */
function declare() {
  const stage = mkdtempSync(join(tmpdir(), 'decorum-client-'))
  const config = {
    extends: join(repo, 'tsconfig.base.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: join(repo, 'packages'),
      outDir: stage,
      typeRoots: [join(repo, 'node_modules/@types')],
    },
    // Those of other packages as well: what is only found through node_modules is not emitted
    include: ['client', 'content', 'protocol'].map((name) => join(repo, 'packages', name, 'src/**/*.ts')),
  }
  writeFileSync(join(stage, 'tsconfig.json'), JSON.stringify(config))
  execFileSync(join(repo, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json'], {
    cwd: stage,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  const seen = new Set()
  const take = (file) => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(join(stage, file), 'utf8').replace(
      /(from|import\()( ?)(['"])([^'"]+)\3/g,
      (_, word, blank, quote, name) => {
        if (name.startsWith('node:')) return `${word}${blank}${quote}${name}${quote}`
        const other = name.startsWith('.') ? join(dirname(file), name.replace(/\.ts$/, '.d.ts')) : workspaceTypes(name)
        take(other)
        const path = relative(dirname(file), other).replace(/\.d\.ts$/, '.js')
        return `${word}${blank}${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`
      },
    )
    const target = join(root, 'dist/types', file)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, text.replace(/^\/\/# sourceMappingURL=.*$/m, ''))
  }
  take('client/src/index.d.ts')
  rmSync(stage, { recursive: true })
}

/** @throws Error for types of another package: users would have to install it */
function workspaceTypes(name) {
  const [, folder, path = '.'] = /^@decorum\/([^/]+)(?:\/(.+))?$/.exec(name) ?? []
  if (folder === undefined) throw new Error(`the public types name ${name}, which is not part of the package`)
  const { exports } = JSON.parse(readFileSync(join(repo, 'packages', folder, 'package.json'), 'utf8'))
  return join(folder, exports[path === '.' ? '.' : `./${path}`].replace(/\.ts$/, '.d.ts'))
}
