/** How a script is put together: its parts, and the names of layout.ts and calls.ts. */
import { FIELD, readPart, scriptText, VERBS } from '@decorum/ledger/testing'
import { VIEW_VERBS, viewText } from '@decorum/ledger/views/testing'
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

const OF_LUA =
  'assert error ipairs math next pairs pcall redis string struct table tonumber tostring type unpack cjson bit KEYS ARGV'
test.each(texts)('%s: calls no function that its parts do not have', (_, text) => {
  const known = new Set(OF_LUA.split(' '))
  for (const [, names = ''] of text.matchAll(/\blocal (?:function )?([\w, ]+)/g))
    for (const name of names.split(',')) known.add(name.trim())
  for (const [, names = ''] of text.matchAll(/\bfunction(?: \w+)?\(([\w, .]*)\)/g))
    for (const name of names.split(',')) known.add(name.trim())
  const words = 'and elseif for function if in not or return then until while'.split(' ')
  const code = text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, "''")
  const called = [...code.matchAll(/(?<![.:\w])([A-Za-z_]\w*)\(/g)].map(([, name = '']) => name)
  expect(called.filter((name) => !known.has(name) && !words.includes(name))).toEqual([])
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
