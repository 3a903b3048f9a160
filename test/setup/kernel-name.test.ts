/** Names that one process holds: exclusive for those who may use the folder, unknown to all others. */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { holdName } from '@decorum/cli/local-redis'
import { expect, onTestFinished, test } from 'vitest'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'decorum-name-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

test.skipIf(process.platform !== 'linux')(
  'one holder at a time for a folder and a purpose, however many ask first',
  async () => {
    const dir = folder()
    const tries = await Promise.all(Array.from({ length: 5 }, () => holdName('test', dir)))
    const held = tries.filter((release) => release !== undefined)
    expect(held).toHaveLength(1)
    expect(await holdName('test', dir)).toBeUndefined()
    for (const [purpose, other] of [
      ['other', dir],
      ['test', folder()],
    ] as const)
      await (
        await holdName(purpose, other)
      )?.()
    await held[0]?.()
    const again = await holdName('test', dir)
    expect(again).toBeDefined()
    await again?.()
  },
)

test.skipIf(process.platform !== 'linux')('who cannot read in the folder cannot work out its name', async () => {
  const dir = folder()
  const names = () => readFileSync('/proc/net/unix', 'utf8').match(/@decorum-test-\w+/g) ?? []
  const guessed = createHash('sha256').update(dir).digest('hex')
  const squatter = createServer().listen(`\0decorum-test-${guessed}`)
  onTestFinished(() => void squatter.close())
  const before = new Set(names())
  const release = await holdName('test', dir)
  expect(release).toBeDefined()
  const [name = ''] = names().filter((one) => !before.has(one))
  const key = readFileSync(join(dir, '.lock-key'), 'utf8')
  expect(statSync(join(dir, '.lock-key')).mode & 0o777).toBe(0o600)
  expect(name).toBe(`@decorum-test-${createHash('sha256').update(`${key} ${dir}`).digest('hex')}`)
  await release?.()
})
