/** Text of strangers, on terminals and in logs. */

import { printable, printableAll, printableJson, printableLog } from '@decorum/protocol'
import fc from 'fast-check'
import { pino } from 'pino'
import { expect, test } from 'vitest'

const OBEYED = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u
/** Anything, with much of what matters in it. */
const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      '\u001b[31m',
      '\u009b2J',
      '\n',
      '\r',
      '\u202e',
      '\u2066',
      '\u200b',
      '\u{e0041}',
      '\ud800',
      '\udc00',
      '\u007f',
      '"',
      '\\',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }),
    fc.nat(0xffff).map((unit) => String.fromCharCode(unit)),
  ),
})
const runs = { numRuns: 2_000, verbose: true }

test('nothing that a terminal obeys comes through; what it shows stays as it is', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(printable(text)).not.toMatch(OBEYED)
    }),
    runs,
  )
  for (const text of ['plain', 'größer 雪 🦊 e\u0301', '/a?b=c%20d', '\\u001b']) expect(printable(text)).toBe(text)
  expect(printable('\u001b[2J\n\u009b\u202e\u{e0041}\ud800')).toBe('\\u001b[2J\\u000a\\u009b\\u202e\\u{e0041}\\ud800')
})

test('JSON stays exact: whoever parses it reads the same value, and no terminal obeys it', () => {
  fc.assert(
    fc.property(fc.dictionary(hostile, hostile), fc.constantFrom(undefined, 2), (value, space) => {
      const json = printableJson(value, space)
      expect(json.replaceAll('\n', '')).not.toMatch(OBEYED)
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
    runs,
  )
})

test('a whole value: every text in it, names and depths included; numbers and holes stay', () => {
  const value = { a: ['\u001b', { '\u202e': '\n' }], n: 1, u: undefined, b: true, z: null }
  expect(printableAll(value)).toEqual({
    a: ['\\u001b', { '\\u202e': '\\u000a' }],
    n: 1,
    u: undefined,
    b: true,
    z: null,
  })
})

test('a log line is exact JSON without anything that a terminal obeys', () => {
  const lines: string[] = []
  const log = pino({ ...printableLog, base: null }, { write: (line: string) => void lines.push(line) })
  const url = 'http://a.example/\u009b2J\u202e\u001b\u{e0041}'
  log.warn({ url, err: new Error('\u009d0;title\u009c') }, 'a message \u2028')
  expect(lines).toHaveLength(1)
  expect(lines[0]?.trimEnd()).not.toMatch(OBEYED)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    url,
    err: { message: '\u009d0;title\u009c' },
    msg: 'a message \u2028',
  })
})
