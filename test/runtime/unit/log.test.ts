/** The log of a role process: JSON with names of levels, and for people on a terminal. */
import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { lineForPeople, roleLog } from '@decorum/runtime'
import { expect, test } from 'vitest'

test('a line for people: time, level, message and what else it says; nothing that a stranger wrote is obeyed', () => {
  const json = JSON.stringify({
    level: 'warn',
    time: 0,
    pid: 1,
    hostname: 'h',
    role: 'fetcher',
    url: 'http://a/\u001b[2J',
    msg: 'slow\nfake line',
  })
  const text = stripVTControlCharacters(lineForPeople(json))
  expect(text).toMatch(/^\d\d:\d\d:\d\d WARN {2}slow\\u000afake line {2}role=fetcher url=http:\/\/a\/\\u001b\[2J$/)
  expect(text).not.toContain('\n')
})

test('what is no JSON is told as text', () => {
  expect(lineForPeople('a print of a library\u0007')).toBe('a print of a library\\u0007')
})

test('on a terminal lines for people, elsewhere JSON with the names of levels', () => {
  let told = ''
  const out = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        told += String(chunk)
        done()
      },
    }),
    { isTTY: true },
  ) as unknown as NodeJS.WriteStream
  roleLog('info', { role: 'gateway' }, out).warn({ port: 1 }, 'ready')
  expect(stripVTControlCharacters(told)).toMatch(/ WARN {2}ready {2}role=gateway port=1\n$/)
})
