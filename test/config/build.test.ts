/** Which build a process is: from what packing wrote, from the files of git, or not known. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readBuild } from '@decorum/config/fleet-config'
import { expect, onTestFinished, test } from 'vitest'

/** A folder of the package `it` with this manifest, below packages, and its root. */
function folder(manifest: object): { root: string; own: string } {
  const root = mkdtempSync(join(tmpdir(), 'decorum-build-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const own = join(root, 'packages', 'it')
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'package.json'), JSON.stringify({ version: '1.2.3', ...manifest }))
  return { root, own }
}

test('without a checkout and without packing the commit is unknown, and said to be', () => {
  expect(readBuild(folder({}).own)).toEqual({ version: '1.2.3', commit: 'unknown' })
  expect(readBuild(folder({ commit: 'unknown' }).own).commit).toBe('unknown')
  expect(readBuild(folder({ commit: '"} 1\n' }).own).commit).toBe('unknown')
})

test('packing says it', () => {
  expect(readBuild(folder({ commit: 'a'.repeat(40) }).own).commit).toBe('a'.repeat(12))
})

test('a checkout: on a branch, packed, detached, and in a work tree beside it', () => {
  const { root, own } = folder({})
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
      cwd: root,
      encoding: 'utf8',
    })
  git('init', '-q')
  expect(readBuild(own).commit, 'no commit yet').toBe('unknown')
  git('add', '.')
  git('commit', '-qm', 'one')
  const head = (): string => git('rev-parse', 'HEAD').slice(0, 12)
  const first = head()
  expect(readBuild(own).commit).toBe(first)
  git('pack-refs', '--all')
  expect(readBuild(own).commit).toBe(first)
  git('commit', '-qm', 'two', '--allow-empty')
  expect(readBuild(own).commit).toBe(head())
  expect(head()).not.toBe(first)
  git('worktree', 'add', '-q', '-b', 'other', 'beside', first)
  expect(readBuild(join(root, 'beside', 'packages', 'it')).commit).toBe(first)
  git('checkout', '-q', '--detach', first)
  expect(readBuild(own).commit).toBe(first)
})
