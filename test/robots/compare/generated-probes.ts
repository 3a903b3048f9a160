/**
 * Generated files: any bytes, every line end, byte order marks whole and broken, blanks of every kind around everything,
 * keywords on both sides of the line limit, and files over 500 KiB. A seed gives the same files again.
 */
import { damaged, file, pick, random, url } from '../support/files.ts'
import type { Probe } from './reference-process.ts'

const AGENTS = ['a', 'a-b', 'b', 'bot', 'x_y', 'nobody']
const LINE_LIMIT = 16_663

/** @param count  how many files */
export function* generatedProbes(seed: number, count: number): Generator<Probe> {
  for (let i = 0; i < count; i++) {
    const next = random(seed + i)
    const kind = next()
    // Long lines and large files are slow to compare, so there are few of them.
    const body = kind < 0.01 ? longLines(next) : i % 2_000 === 7 ? large(next) : smallFile(next)
    const urls = Array.from({ length: 6 }, () => url(next))
    const agents = [pick(next, AGENTS), pick(next, AGENTS)]
    yield { name: `generated from ${seed + i}`, body, agents: [...new Set(agents)], urls: [...new Set(urls)] }
  }
}

function smallFile(next: () => number): Uint8Array {
  const kind = next()
  if (kind < 0.04) return page(next)
  if (kind < 0.3) return damaged(next, file(next, 16))
  if (kind < 0.9)
    return Buffer.concat([mark(next), ...Array.from({ length: Math.floor(next() * 14) }, () => line(next))])
  return Uint8Array.from({ length: Math.floor(next() * 200) }, () => Math.floor(next() * 256))
}

/** A page of HTML, or nothing legible, of some KB with lines of a robots.txt in it. */
function page(next: () => number): Buffer {
  const parts: Uint8Array[] = [
    Buffer.from(pick(next, ['<!DOCTYPE html>', ' <html>', '\r\n<head>', '\x89PNG', '\xff\xfe', '#']), 'latin1'),
  ]
  const end = pick(next, ['\n', '\r\n', '\r'])
  for (let n = Math.floor(next() * 200); n > 0; n--)
    parts.push(
      next() < 0.1
        ? line(next)
        : Buffer.from(
            `${pick(next, ['', '\t', '        '])}${pick(next, ['<p>x</p>', 'navigator.userAgent', 'agent', 'é', 'var x: y', '', '# x', 'map'])}${'x'.repeat(Math.floor(next() ** 6 * 9_000))}${next() < 0.95 ? end : pick(next, ENDS)}`,
          ),
    )
  return Buffer.concat(parts)
}

/** A byte order mark, or a part of one, or none. */
function mark(next: () => number): Buffer {
  return Buffer.from(pick(next, ['', '', '', 'efbbbf', 'efbb', 'ef', 'bbbf', 'efbf', 'efbbbfefbbbf', 'feff']), 'hex')
}

const BLANKS = ['', '', '', ' ', '  ', '\t', '\v', '\f', ' \v ', '\0', '\x1c', '\x85', '\xa0', '#']
const KEYS = [
  'user-agent',
  'User-Agent',
  'useragent',
  'user agent',
  'user-agents',
  'disallow',
  'Disallow',
  'disallowed',
  'disalow',
  'dissallow',
  'diasllow',
  'disallaw',
  'allow',
  'Allow',
  'allowed',
  'AllowAITraining',
  'sitemap',
  'site-map',
  'crawl-delay',
  'host',
  'noindex',
  '',
]
const VALUES = [
  '',
  '/',
  '/',
  '/a',
  '/b',
  '/ab',
  '*',
  'a',
  '/*a$',
  '/a/index.html',
  '/\xc3\xa9',
  '/%e9',
  '/%C3%A9',
  '/a b',
]
const ENDS = ['\n', '\n', '\n', '\r', '\r\n', '\n\r', '\r\r\n', '\n\n', '\0\n', '\v\n', '']

/** One line as a hostile or careless author writes it. */
function line(next: () => number): Buffer {
  const blank = (): string => pick(next, BLANKS)
  const key = pick(next, KEYS)
  const value = /agent/i.test(key)
    ? pick(next, [...AGENTS, '*', '*', 'A', 'a/1', '* x', '*\vx', ''])
    : pick(next, VALUES)
  const parts = [blank(), key, blank(), pick(next, [':', ':', ':', ' ', '', '::']), blank(), value, blank()]
  if (next() < 0.2) parts.splice(Math.floor(next() * parts.length), 0, String.fromCharCode(Math.floor(next() * 256)))
  return Buffer.from(parts.join('') + pick(next, ENDS), 'latin1')
}

/** Lines whose keyword, colon, value or comment stands at the limit. */
function longLines(next: () => number): Buffer {
  const lines = [Buffer.from('user-agent: a\n'), line(next)]
  for (let n = 0; n < 4; n++) {
    const rest = Buffer.from(`${pick(next, KEYS)}: ${pick(next, VALUES)}${pick(next, ['', ' x', '#', '\0'])}`, 'latin1')
    const before = LINE_LIMIT - rest.length + Math.floor(next() * 2 * rest.length) - 4
    const fill = pick(next, [' ', ' ', '\t', '\v', '\f', 'x'])
    const whole = Buffer.concat([Buffer.from(fill.repeat(before)), rest])
    const padded = `${pick(next, KEYS)}: /${pick(next, ['a', 'b', ' ', '*']).repeat(before)}`
    lines.push(next() < 0.7 ? whole : Buffer.from(padded), Buffer.from(pick(next, ENDS), 'latin1'), line(next))
  }
  return Buffer.concat(lines)
}

/** Over 500 KiB, with a line that the limit falls into, or right before or behind. */
function large(next: () => number): Buffer {
  const lines: Buffer[] = []
  let size = 0
  while (size < 512_000 - 40) {
    const one = next() < 0.3 ? line(next) : Buffer.from(`# ${'x'.repeat(Math.floor(next() * 900))}\n`)
    lines.push(one)
    size += one.length
  }
  while (size < 512_000 + 40) {
    const one = Buffer.from(
      pick(next, ['disallow: /a', 'allow: /', 'user-agent: a', '\r\n', '\n', '\r', 'disallow: /b\n']),
    )
    lines.push(one)
    size += one.length
  }
  return Buffer.concat(lines)
}
