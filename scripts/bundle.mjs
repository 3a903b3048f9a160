/**
 * Makes one file of what each process loads, with chunks for what it loads later: a start takes about 60 % of the processor time
 * (docs/decisions/0047-one-file-of-all-sources.md). packages/runtime/src/bundled.ts takes it only where it is of just these sources; nothing needs it.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './say.mjs'

const ENTRIES = ['packages/cli/src/run-command.ts', 'services/fetcher/src/process/fetching-process.ts']
const FOLDER = join(root, '.cache', 'bundle')
const MANIFEST = join(FOLDER, 'manifest.json')
const LOCK = 'node_modules/.package-lock.json'
/** A process that runs may load a chunk of an earlier bundle still. */
const KEPT_MS = 24 * 3_600_000

/** `export const X = require('library/file.js')`: of a library that is loaded with its module the bundler follows the names. */
const REQUIRES_AT_ONCE = /^export const .* = require\('/m
const OWN_REQUIRE = /^const require = createRequire\(import\.meta\.url\)$/m

/** Each source keeps its own place: what it reads or starts beside itself is found there. */
const ownPlaces = {
  name: 'own places',
  setup(build) {
    // Made for one platform, and msgpackr tries it: BullMQ only packs, for which it is of no use, and the packed command has none either
    build.onResolve({ filter: /^msgpackr-extract$/ }, () => ({ path: 'msgpackr-extract', namespace: 'nothing' }))
    build.onLoad({ filter: /./, namespace: 'nothing' }, () => ({ contents: 'module.exports = undefined' }))
    build.onLoad({ filter: /\.(ts|[cm]?js)$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const loader = path.endsWith('.ts') ? 'ts' : 'js'
      if (!/import\.meta|__dirname|__filename/.test(text)) return { contents: text, loader }
      const [folder, file, url] = [dirname(path), path, pathToFileURL(path).href].map((place) => JSON.stringify(place))
      const code = (REQUIRES_AT_ONCE.test(text) ? text.replace(OWN_REQUIRE, '') : text)
        .replaceAll('import.meta.url', url)
        .replaceAll('import.meta.dirname', folder)
        .replaceAll('import.meta.main', 'false')
      const ofCommonJs = loader === 'js' && /__dirname|__filename/.test(text)
      return { contents: ofCommonJs ? `var __dirname = ${folder}, __filename = ${file};${code}` : code, loader }
    })
  },
}

const stamp = (file) => {
  const { size, mtimeMs } = statSync(join(root, file))
  return [file, size, mtimeMs]
}

/** Makes it anew where the sources have changed. Never throws: without it everything works from the sources. */
export async function ensureBundle() {
  if (isFresh()) return
  const esbuild = await import('esbuild').catch(() => undefined)
  if (esbuild === undefined) return // a tree without the packages of developers
  try {
    const made = join(FOLDER, `.making-${process.pid}`)
    const { metafile, outputFiles } = await esbuild.build({
      absWorkingDir: root,
      entryPoints: ENTRIES,
      bundle: true,
      splitting: true,
      platform: 'node',
      format: 'esm',
      target: 'node24',
      outdir: made,
      outbase: '.',
      outExtension: { '.js': '.mjs' },
      entryNames: '[dir]/[name]',
      chunkNames: '[name]-[hash]',
      metafile: true,
      write: false,
      logLevel: 'silent',
      keepNames: true,
      banner: {
        js: "import { createRequire as __requireOf } from 'node:module'; const require = __requireOf(import.meta.url);",
      },
      plugins: [ownPlaces],
    })
    const hash = createHash('sha256')
    for (const { path, contents } of outputFiles) {
      hash.update(relative(made, path)).update(contents)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, contents)
    }
    const name = hash.digest('hex').slice(0, 16)
    if (existsSync(join(FOLDER, name))) rmSync(made, { recursive: true })
    else renameSync(made, join(FOLDER, name))
    const own = Object.keys(metafile.inputs).filter((path) => !/node_modules\/|^nothing:/.test(path))
    const manifest = {
      root,
      files: [LOCK, 'scripts/bundle.mjs', ...own].map(stamp),
      entries: Object.fromEntries(ENTRIES.map((entry) => [entry, `${name}/${entry.replace(/\.ts$/, '.mjs')}`])),
    }
    writeFileSync(`${MANIFEST}.new`, JSON.stringify(manifest))
    renameSync(`${MANIFEST}.new`, MANIFEST)
    for (const old of readdirSync(FOLDER)) {
      const path = join(FOLDER, old)
      if (old !== name && Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true })
    }
  } catch (error) {
    // A folder that this user may not write is nothing to talk about; sources that cannot be bundled are
    if (error.errors !== undefined)
      console.error(`decorum: no bundle was made, so processes start from the sources: ${error.message}`)
  } finally {
    await esbuild.stop()
  }
}

function isFresh() {
  try {
    const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8'))
    return (
      manifest.root === root &&
      manifest.files.every(([file, ...rest]) =>
        stamp(file)
          .slice(1)
          .every((part, at) => part === rest[at]),
      )
    )
  } catch {
    return false
  }
}
