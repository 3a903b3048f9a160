/** Bodies of robots.txt as they are stored: unchanged when read, and shorter where that is possible. */
import { randomBytes } from 'node:crypto'
import { readBody, writeBody } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'

const rules = Array.from({ length: 40 }, (_, i) => `Disallow: /section-${i}/private/\n`).join('')
const usual = Buffer.from(`User-agent: *\n${rules}Sitemap: https://a.example/sitemap.xml\n`)

test('a usual file takes less than half of its octets', async () => {
  const stored = await writeBody(usual)
  expect(stored.length).toBeLessThan(usual.length / 2)
  expect(await readBody(stored)).toEqual(usual)
})

test.each([
  ['nothing', Buffer.alloc(0)],
  ['a few octets', Buffer.from('#')],
  ['what does not get shorter', randomBytes(2_000)],
  ['the largest file', Buffer.from('Disallow: /aaaaaaaaaaaaaaaaaa\n'.repeat(20_000)).subarray(0, 512_000)],
])('%s comes back as it was, and is never more than one octet longer', async (_, octets) => {
  const stored = await writeBody(octets)
  expect(stored.length).toBeLessThanOrEqual(octets.length + 1)
  expect(Buffer.from((await readBody(stored)) ?? [])).toEqual(octets)
})

test('what an earlier version stored whole is read as it is', async () => {
  expect(await readBody(usual)).toEqual(usual)
})

test('what is broken is lost, and inflates to no more than a robots.txt may be', async () => {
  const stored = await writeBody(usual)
  expect(await readBody(stored.subarray(0, 20))).toBeUndefined()
  const bomb = await writeBody(Buffer.alloc(50_000_000))
  expect(await readBody(bomb)).toBeUndefined()
})
