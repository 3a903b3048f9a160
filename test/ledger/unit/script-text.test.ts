/** How a script is put together: its parts, and the names of layout.ts and calls.ts. */
import { FIELD, readPart, scriptText, VERBS } from '@decorum/ledger/testing'
import { VIEW_VERBS, viewText } from '@decorum/ledger-views/testing'
import { expect, test } from 'vitest'

const withVerb = (text: string) => (file: string) => (file === 'verbs/confirm' ? text : readPart(file))

const texts = [
  ...VERBS.map((verb) => [verb, scriptText(verb)]),
  ...VIEW_VERBS.map((verb) => [verb, viewText(verb)]),
] as [string, string][]

test.each(texts)('%s: no name of a layout and no comment is left', (_, whole) => {
  const text = whole.replace(/^#!lua .*\n/, '')
  expect(text).not.toMatch(/\b[A-Z][A-Z_]+\.[a-z]|LEASE_FIELDS|--/)
})

test('a part that several others include stands there once', () => {
  const text = scriptText('complete')
  expect(text.split('local function openEpoch()')).toHaveLength(2)
  expect(text.indexOf('local function openEpoch()')).toBeLessThan(text.indexOf('local function setDue('))
})

test('a name stands for what is stored, a place for its number', () => {
  const text = scriptText('confirm', withVerb('return { FIELD.backOffUntil, ARG.items, CONFIRM_ITEM.version }'))
  expect(text).toContain(`return { '${FIELD.backOffUntil}', 5, 2 }`)
})

test.each(['FIELD.nothing', 'ARG.limit', 'NOWHERE.due'])('%s: a name that does not exist is an error', (name) => {
  expect(() => scriptText('confirm', withVerb(`return ${name}`))).toThrow(
    `lua/verbs/confirm.lua: ${name} is neither in layout.ts nor in calls.ts`,
  )
})

test('names in comments are not looked up', () => {
  expect(scriptText('confirm', withVerb('--[[ FIELD.nothing ]] return 1 -- ARG.nothing'))).toMatch(/return 1 *$/)
})
