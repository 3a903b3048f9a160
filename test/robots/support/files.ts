/** Files for property tests: made of the pieces that matter, then damaged. A seed gives the same files again. */

/** mulberry32 */
export function random(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

export const AGENTS = ['a', 'a-b', 'a-b-c', 'b', 'bot', 'x_y', 'constructor']
const FIELDS = [
  'user-agent',
  'User-Agent',
  'useragent',
  'user agent',
  'disallow',
  'Disallow',
  'disalow',
  'allow',
  'ALLOW',
  'sitemap',
  'crawl-delay',
  'host',
  'noindex',
  'disallowed',
  '',
]
const PIECES = [
  '/',
  '/',
  'a',
  'b',
  'ab',
  '*',
  '*',
  '$',
  '?',
  '=',
  '.',
  '%61',
  '%2A',
  '%24',
  '%2f',
  '%E9',
  '%',
  'é',
  '~',
  'index.html',
  '/index.htm',
  ';',
  '-',
  '_',
  '//',
  '..',
  ' ',
  '{|}',
  '"<>',
  "'",
  '[',
  '^`',
  '\\',
  '%7C',
  '%27',
  '%25',
  '%2',
]
const ENDS = ['\n', '\n', '\n', '\r', '\r\n', '\n\n']
const ODD = [
  0, 1, 9, 10, 11, 12, 13, 32, 35, 36, 37, 42, 47, 58, 63, 92, 0x7f, 0x80, 0x85, 0xa0, 0xbb, 0xbf, 0xc3, 0xe2, 0xef,
  0xfe, 0xff,
]

export function pick<T>(next: () => number, from: readonly T[]): T {
  return from[Math.floor(next() * from.length)] as T
}

export function piece(next: () => number, most: number): string {
  let text = ''
  for (let n = Math.floor(next() * most); n > 0; n--) text += pick(next, PIECES)
  return text
}

/** A file of up to `most` lines. */
export function file(next: () => number, most: number): Uint8Array {
  let text = next() < 0.05 ? '\ufeff' : ''
  for (let n = Math.floor(next() * most); n > 0; n--) {
    const kind = next()
    const agent = pick(next, [...AGENTS, '*', '*', 'A', 'a/1', '* x', '', '42'])
    const blank = pick(next, ['', ' ', ' ', '\t'])
    if (kind < 0.25) text += `user-agent:${blank}${agent}`
    else if (kind < 0.8)
      text += `${next() < 0.7 ? 'disallow' : 'allow'}:${blank}${next() < 0.9 ? '/' : ''}${piece(next, 6)}`
    else if (kind < 0.85) text += `crawl-delay:${blank}${pick(next, ['1', '.5', '-1', '1e3', '12', 'x', ''])}`
    else
      text += `${pick(next, FIELDS)}${pick(next, [':', ' : ', ' ', '', '  '])}${next() < 0.5 ? agent : piece(next, 5)}${pick(next, ['', '', '#x', ' # x'])}`
    text += pick(next, ENDS)
  }
  return Buffer.from(text)
}

/** The same with some octets changed, put in, taken out, or doubled. */
export function damaged(next: () => number, source: Uint8Array): Uint8Array {
  let octets = [...source]
  for (let n = 1 + Math.floor(next() * 4); n > 0; n--) {
    const at = Math.floor(next() * (octets.length + 1))
    const odd = next() < 0.7 ? pick(next, ODD) : Math.floor(next() * 256)
    const kind = next()
    if (kind < 0.35) octets.splice(at, 1, odd)
    else if (kind < 0.65) octets.splice(at, 0, odd)
    else if (kind < 0.85) octets.splice(at, 1 + Math.floor(next() * 8))
    else octets = [...octets.slice(0, at), ...octets.slice(Math.max(0, at - 20), at), ...octets.slice(at)]
  }
  return Uint8Array.from(octets)
}

export function url(next: () => number): string {
  return `https://h.example/${piece(next, 7).replaceAll('#', '')}`
}
