/** Scripts are as wide as the rest of the code. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const WIDEST = 120
const root = fileURLToPath(new URL('../../../', import.meta.url))

test(`no line of a script is longer than ${WIDEST} columns`, () => {
  const scripts = globSync('packages/*/src/**/*.lua', { cwd: root })
  expect(scripts.length).toBeGreaterThan(50)
  const tooLong = scripts.flatMap((file) =>
    readFileSync(`${root}${file}`, 'utf8')
      .split('\n')
      .flatMap((line, n) => ([...line].length > WIDEST ? `${file}:${n + 1}` : [])),
  )
  expect(tooLong).toEqual([])
})
