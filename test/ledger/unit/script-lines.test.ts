/** Scripts are as wide as the rest of the code. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const WIDEST = 120
const root = fileURLToPath(new URL('../../../', import.meta.url))

/** In packages/ledger/src/lua; a file leaves this list once its lines are short enough. */
const NOT_YET = [...['lib/epoch', 'lib/owed', 'lib/secondary', 'verbs/complete', 'verbs/reserve', 'verbs/start']].map(
  (file) => `packages/ledger/src/lua/${file}.lua`,
)

test(`no line of a script is longer than ${WIDEST} columns`, () => {
  const scripts = globSync('packages/*/src/**/*.lua', { cwd: root }).filter((file) => !NOT_YET.includes(file))
  expect(scripts.length).toBeGreaterThan(50)
  const tooLong = scripts.flatMap((file) =>
    readFileSync(`${root}${file}`, 'utf8')
      .split('\n')
      .flatMap((line, n) => ([...line].length > WIDEST ? `${file}:${n + 1}` : [])),
  )
  expect(tooLong).toEqual([])
})
