/** A file of settings: what YAML can hold and JSON cannot is refused in one sentence, and never taken for nothing. */
import { readConfigFile } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

const read = (text: string | Uint8Array): unknown =>
  readConfigFile('a.yaml', typeof text === 'string' ? Buffer.from(text) : text)

test.each([
  ['a set, which JSON writes as {}', 'SITE_POLICIES: !!set {a.example}', /Unresolved tag/],
  ['octets', 'SITE_POLICIES: !!binary aGVsbG8=', /Unresolved tag/],
  ['a tag that nobody knows', 'DEFAULT_DELAY_MS: !ms 300', /Unresolved tag/],
  ['a member twice', 'MAX_ATTEMPTS: 3\nMAX_ATTEMPTS: 4', /keys must be unique/],
  ['an alias within what it stands for', 'SITE_POLICIES: &all\n  a.example: *all', /an alias is part of its own value/],
  ['aliases of aliases', bomb(), /Excessive alias count/],
  ['two documents', 'MAX_ATTEMPTS: 3\n---\nMAX_ATTEMPTS: 4', /several documents/],
  ['text in another encoding', Buffer.from('PAGE_SINK: "M\xfcller"', 'latin1'), /UTF-8/],
])('%s', (_what, text, message) => {
  expect(() => read(text)).toThrow(message)
  expect(() => read(text)).toThrow(/^a\.yaml [^\n]*$/)
})

test('aliases that stand for something else, and a byte order mark, are read', () => {
  expect(read('\uFEFFDEFAULT_DELAY_MS: &d 300\nMAX_DELAY_MS: *d')).toEqual({ DEFAULT_DELAY_MS: 300, MAX_DELAY_MS: 300 })
})

function bomb(): string {
  const lines = Array.from({ length: 8 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(10).fill(`*a${n}`).join(', ')}]`)
  return ['a0: &a0 [x]', ...lines].join('\n')
}
