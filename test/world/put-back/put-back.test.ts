/** The table of faults to be put back fits the code, and each test that is named for one is there: their search takes an hour (main.ts). */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MUTANTS } from '../../ledger/model/mutants.ts'
import { ELSEWHERE } from './elsewhere.ts'
import { changed, thrownBy } from './hook.ts'
import { FAULTS } from './table.ts'

test.each(FAULTS.map((fault) => [fault.name, fault] as const))('%s', (_, fault) => {
  if ('file' in fault) expect(changed(fault)).toContain(fault.put)
  else expect(MUTANTS.map(({ name }) => name)).toContain(fault.mutant)
})

test('of faults in code that the world does not play, the test that is named is there', () => {
  const root = new URL('../../..', import.meta.url)
  const missing = ELSEWHERE.filter(({ test: named }) => {
    const [file = '', title = ''] = named.split(/: (.*)/s)
    return title === '' || !readFileSync(new URL(file, root), 'utf8').includes(title)
  })
  expect(missing).toEqual([])
})

test('no two have one name', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length)
})

test('an error counts as found where the product has thrown it, and not the world, a library or Redis', () => {
  const root = new URL('../../..', import.meta.url)
  const thrown = (...places: string[]): string | undefined =>
    thrownBy({
      name: 'Error',
      message: 'x',
      stack: ['Error: x', ...places.map((place) => `    at f (${new URL(place, root).href}:1:2)`)].join('\n'),
    })
  expect(thrown('packages/sending/src/ledger.ts', 'test/world/fleet.ts')).toBe('packages/sending/src/ledger.ts')
  expect(thrown('node_modules/ioredis/x.js', 'services/gateway/src/decide.ts')).toBe('services/gateway/src/decide.ts')
  expect(thrown('test/world/sites.ts', 'packages/sending/src/ledger.ts')).toBeUndefined()
  expect(thrown('node_modules/ioredis/x.js')).toBeUndefined()
  expect(thrownBy(new Error('a test has thrown it'))).toBeUndefined()
})
