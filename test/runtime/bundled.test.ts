/** Which program a process loads: one file, where it was made of just these sources. */
import { mkdir, mkdtemp, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundled } from '@decorum/runtime/bundled'
import { expect, onTestFinished, test } from 'vitest'

async function tree(made: { root?: string } = {}) {
  const root = await mkdtemp(join(tmpdir(), 'decorum-bundled-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  await mkdir(join(root, '.cache/bundle'), { recursive: true })
  await writeFile(join(root, 'main.ts'), 'one')
  const { size, mtimeMs } = await stat(join(root, 'main.ts'))
  const manifest = { root, files: [['main.ts', size, mtimeMs]], entries: { 'main.ts': 'abc/main.mjs' }, ...made }
  await writeFile(join(root, '.cache/bundle/manifest.json'), JSON.stringify(manifest))
  const source = pathToFileURL(join(root, 'main.ts'))
  return {
    root,
    source: source.href,
    inBundle: pathToFileURL(join(root, '.cache/bundle/abc/main.mjs')).href,
    loads: () => bundled(source, `${root}/`),
  }
}

test('the bundle of a source that is as it was', async () => {
  const { inBundle, loads } = await tree()
  expect(loads()).toBe(inBundle)
})

test('the source: when it was written again, is gone, was copied elsewhere, or has no bundle', async () => {
  const written = await tree()
  await utimes(join(written.root, 'main.ts'), 1, 1)
  expect(written.loads()).toBe(written.source)
  const gone = await tree()
  await rm(join(gone.root, 'main.ts'))
  expect(gone.loads()).toBe(gone.source)
  const copied = await tree({ root: '/elsewhere' })
  expect(copied.loads()).toBe(copied.source)
  const without = await tree()
  await rm(join(without.root, '.cache'), { recursive: true })
  expect(without.loads()).toBe(without.source)
})
