/** Content-Usage and Content-Signal as data, and robots meta values. */
import { parseRobots } from '@decorum/robots'
import { parseRobotsMeta } from '@decorum/robots/meta'
import { PREFERENCE_DRAFTS, parseDictionary, preferences } from '@decorum/robots/preferences'
import { describe, expect, test } from 'vitest'
import { lines } from './support/ask.ts'

const usage = (source: string, url: string | URL, agent = 'x'): unknown => {
  const { contentUsage, warnings } = preferences(parseRobots(source), url, agent)
  return warnings.length > 0 ? warnings.map(({ line }) => line) : contentUsage
}

describe('Content-Usage', () => {
  const source = lines(
    'user-agent: *',
    'allow: /',
    'disallow: /closed',
    'content-usage: train-ai=n',
    'content-usage: /open train-ai=y, search=y',
    'content-usage: /open/*.pdf$ search=n;why="x"',
    'user-agent: own',
    'content-usage: search=n',
  )
  test('the longest path wins, and a statement without one holds where none matches', () => {
    expect(usage(source, 'https://h.example/')).toEqual({ 'train-ai': false })
    expect(usage(source, '/open/a')).toEqual({ 'train-ai': true, search: true })
    expect(usage(source, '/open/a.pdf')).toEqual({ search: false })
    expect(usage(source, new URL('https://h.example/open/a.pdf'))).toEqual({ search: false })
  })
  test('it is of a group, as rules are', () => {
    expect(usage(source, '/open/a', 'own')).toEqual({ search: false })
    expect(usage(lines('content-usage: train-ai=n', 'user-agent: *', 'disallow:'), '/')).toEqual({})
  })
  test('it says nothing where crawling is refused', () => {
    expect(usage(source, '/closed')).toEqual({})
  })
  test('statements of equal paths all apply, the stricter value first', () => {
    const twice = lines('user-agent: *', 'content-usage: /a train-ai=y, search=y', 'content-usage: /a train-ai=n')
    expect(usage(twice, '/a')).toEqual({ 'train-ai': false, search: true })
  })
  test('what cannot be read is left out whole, with a warning that names its line', () => {
    for (const value of ['train-ai', '=n', 'train-ai=n,', 'TRAIN=n', '/path', 'train-ai=perhaps', 'a=n b=y', ''])
      expect(usage(lines('user-agent: *', `content-usage: ${value}`), '/'), value).toEqual([2])
  })
  test('names that are properties of every object are names', () => {
    expect(usage(lines('user-agent: *', 'content-usage: constructor=n'), '/')).toEqual({ constructor: false })
    expect(usage(lines('user-agent: *', 'content-usage: a=constructor'), '/')).toEqual([2])
  })
})

test('Content-Signal: yes and no per group, without a path', () => {
  const robots = parseRobots(lines('user-agent: *', 'content-signal: search=yes, ai-train=no', 'allow: /'))
  expect(preferences(robots, '/', 'x')).toEqual({
    contentUsage: {},
    contentSignal: { search: true, 'ai-train': false },
    lines: [2],
    warnings: [],
  })
  expect(Object.keys(PREFERENCE_DRAFTS)).toEqual(['content-usage', 'content-signal'])
})

test('dictionaries of RFC 9651: the last of a key counts, parameters are passed over, one fault voids all', () => {
  const entries = (text: string): unknown => {
    const members = parseDictionary(text)
    return members === undefined ? undefined : Object.fromEntries(members)
  }
  expect(entries('a=1, b;x=2;y, c="q\\"",a=?0 ,\td=tok/en')).toEqual({ a: '?0', b: '?1', c: '"q\\""', d: 'tok/en' })
  expect(entries('')).toEqual({})
  for (const bad of ['a=', 'a=n,', ',a', 'A=1', 'a b', 'a="', 'a=n;', '1=2']) expect(entries(bad), bad).toBeUndefined()
})

describe('robots meta', () => {
  const one = (value: string): unknown => {
    const [{ agent, flags, noindex, nofollow, ...rest } = { unknown: ['none'] } as never] = parseRobotsMeta(value)
    return [agent, flags, noindex, nofollow, rest]
  }
  test('flags, in any case, for everybody or for one agent', () => {
    expect(one('NOINDEX, nofollow')).toEqual(['*', ['noindex', 'nofollow'], true, true, { unknown: [] }])
    expect(one('none')).toEqual(['*', ['none'], true, true, { unknown: [] }])
    expect(one('Googlebot: noindex')).toEqual(['googlebot', ['noindex'], true, false, { unknown: [] }])
    expect(one('noindex, indexifembedded')).toEqual(['*', ['noindex', 'indexifembedded'], true, false, { unknown: [] }])
  })
  test('rules with values, and of two the stricter', () => {
    expect(parseRobotsMeta('max-snippet:20, max-image-preview:large, max-video-preview: -1')).toMatchObject([
      { maxSnippet: 20, maxImagePreview: 'large', maxVideoPreview: -1 },
    ])
    expect(
      parseRobotsMeta(['max-snippet:-1, max-image-preview:large', 'max-snippet:5, max-image-preview:none']),
    ).toMatchObject([{ maxSnippet: 5, maxImagePreview: 'none' }])
  })
  test('a date holds commas and colons of its own', () => {
    const at = Date.UTC(2031, 5, 25, 15, 0, 0)
    for (const date of ['25 Jun 2031 15:00:00 GMT', 'Wed, 25 Jun 2031 15:00:00 GMT', '2031-06-25T15:00:00Z'])
      expect(parseRobotsMeta(`unavailable_after: ${date}, noarchive`), date).toMatchObject([
        { agent: '*', unavailableAfter: at, flags: ['noarchive'] },
      ])
  })
  test('several headers: each agent once, its rules put together', () => {
    expect(parseRobotsMeta(['otherbot: noindex', 'nosnippet', 'OtherBot: nofollow'])).toMatchObject([
      { agent: 'otherbot', noindex: true, nofollow: true },
      { agent: '*', noindex: false, flags: ['nosnippet'] },
    ])
  })
  test('what is not known is kept as it was written', () => {
    expect(parseRobotsMeta('noindex, shiny, max-snippet:x, max-image-preview:huge')).toMatchObject([
      { flags: ['noindex'], unknown: ['shiny', 'max-snippet:x', 'max-image-preview:huge'] },
    ])
    expect(parseRobotsMeta('')).toEqual([])
  })
  test('the steps grow as the value does, however many dates there are', () => {
    const { exec } = RegExp.prototype
    let steps = 0
    RegExp.prototype.exec = function (text) {
      steps += text.length
      return exec.call(this, text)
    }
    const value = 'unavailable_after: Wed, '.repeat(2_000)
    try {
      parseRobotsMeta(value)
    } finally {
      Object.assign(RegExp.prototype, { exec })
    }
    expect(steps / value.length).toBeGreaterThan(1)
    expect(steps / value.length).toBeLessThan(10)
  })
})
