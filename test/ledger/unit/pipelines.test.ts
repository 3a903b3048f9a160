/** A command of a pipeline that failed is never taken for one that found nothing. */
import { globSync, readFileSync } from 'node:fs'
import { LedgerUnavailableError } from '@decorum/ledger'
import { valuesOf } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'

const LEDGER = new URL('../../../packages/ledger/src/', import.meta.url).pathname

test('values are given in order', () => {
  expect(
    valuesOf(
      [
        [null, 'a'],
        [null, null],
      ],
      'look',
    ),
  ).toEqual(['a', null])
})

test('a command whose connection was lost, and a transaction that was not run, are an absent ledger', () => {
  const lost: [Error, undefined] = [new Error('Connection is closed.'), undefined]
  expect(() => valuesOf([[null, 'a'], lost], 'look')).toThrow(LedgerUnavailableError)
  expect(() => valuesOf(null, 'look')).toThrow(LedgerUnavailableError)
})

test('what Redis said is wrong with a command is thrown as it is', () => {
  const wrong = Object.assign(new Error('WRONGTYPE'), { name: 'ReplyError' })
  expect(() => valuesOf([[wrong, undefined]], 'look')).toThrow(wrong)
})

test('every pipeline of the ledger is read by valuesOf', () => {
  const times = (text: string, what: RegExp): number => text.match(what)?.length ?? 0
  const sources = globSync('**/*.ts', { cwd: LEDGER }).map((file) => ({
    file,
    text: readFileSync(LEDGER + file, 'utf8'),
  }))
  const pipelines = sources.filter(({ text }) => times(text, /\.exec\(\)/g) > 0)
  expect(pipelines.map(({ file }) => file)).toContain('scripts.ts')
  const unread = pipelines.filter(({ text }) => times(text, /\.exec\(\)/g) > times(text, /[^.]\bvaluesOf\(/g))
  expect(unread.map(({ file }) => file)).toEqual([])
})
