/** docs/upgrading.md names each command and each setting of earlier versions whose former name is refused. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { FORMER_FORMS } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

const textOf = (path: string): string => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
const named = new Set(
  [...textOf('docs/upgrading.md').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name.replace(/ [A-Z].*/, '')),
)

test('each former command stands in docs/upgrading.md, and its present form', () => {
  const forms = Object.entries(FORMER_FORMS).flat()
  expect(forms.filter((form) => !named.has(form.replace(/ [A-Z].*/, '')))).toEqual([])
})

test('each former setting stands in docs/upgrading.md', () => {
  const [, table = ''] = /const FORMER\b.*?\n([\s\S]*?)\n\]\)/.exec(textOf('packages/config/src/names.ts')) ?? []
  const settings = [...table.matchAll(/\['([A-Z0-9_]+)'/g)].map(([, name = '']) => name)
  expect(settings.length).toBeGreaterThan(10)
  expect(settings.filter((name) => !named.has(name))).toEqual([])
})
