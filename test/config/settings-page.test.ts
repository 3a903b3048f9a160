import { readFileSync } from 'node:fs'
import { SETTINGS, type Setting, settingsHelp } from '@decorum/config'
import { expect, test } from 'vitest'
import { PAGES, placeOf } from './settings-page.ts'

test.each(Object.keys(PAGES))(
  'docs/%s is what the table prints (node test/config/settings-page.ts --write)',
  (page) => {
    expect(readFileSync(placeOf(page), 'utf8')).toBe(PAGES[page])
  },
)

test('meaning and reason of every setting are whole sentences', () => {
  for (const [name, { means, reason }] of Object.entries(SETTINGS) as [string, Setting][]) {
    expect(means, name).toMatch(/^[A-Z].*\.$/)
    expect(reason, name).toMatch(/^[A-ZC].*\.$/)
  }
})

test('the help of a role lists its settings with their defaults, and no others', () => {
  const help = settingsHelp('fetcher')
  expect(help).toMatch(/^ {2}PAGE_MAX_BYTES +Bytes of a body on the wire;/m)
  expect(help.replace(/\s+/g, ' ')).toContain('`truncated: length`. Default: 10485760.')
  expect(help).not.toContain('CONSOLE_PASSWORD')
  expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120)
})
