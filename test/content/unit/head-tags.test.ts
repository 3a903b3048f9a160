/** The tags at the start of a page, held against the tokenizer of htmlparser2, which reads every character by itself. */
import { type HeadTag, readTags, tagReader } from '@decorum/content/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'

type Told = [name: string, isClosing: boolean, attributes: [string, string][]]

const told = (tag: HeadTag): Told => [tag.name, tag.isClosing, tag.isClosing ? [] : [...tag.attributes()]]

/** As text comes: each piece is more of the whole. */
function ours(text: string, cuts: number[] = []): Told[] {
  const all: Told[] = []
  let at = 0
  for (const end of [...cuts, text.length])
    at = readTags(text.slice(0, end), at, (tag) => {
      all.push(told(tag))
      return true
    })
  return all
}

const NAMES = new Set(['meta', 'title', 'script', 'style', 'textarea', 'noscript', 'p', 'link', 'a', 'content'])
/** The opening tags of these names, with attributes that are no longer than the tokenizer's user reads. */
const comparable = (all: Told[]): Told[] =>
  all.flatMap(([name, isClosing, attributes]) =>
    isClosing || !NAMES.has(name) ? [] : [[name, isClosing, attributes.filter(([key]) => key.length <= 16)]],
  )

function theirs(text: string): Told[] {
  const all: Told[] = []
  const reader = tagReader(NAMES, { onTag: (name, attributes) => all.push([name, false, [...attributes]]) })
  reader.write(text)
  reader.end()
  return all
}

const words = [
  ...[
    '<',
    '</',
    '<!',
    '<!--',
    '-->',
    '--!>',
    '-',
    '--',
    '<!-',
    '<!>',
    '<?',
    '?>',
    '>',
    '/>',
    '/',
    '=',
    ' ',
    '\n',
    '"',
    "'",
  ],
  ...[
    'meta',
    'META',
    'title',
    'script',
    'Style',
    'textarea',
    'noscript',
    'p',
    'x-y',
    'link',
    'a',
    'name',
    'content',
    'href',
  ],
  ...[
    '<meta name="robots" content=none>',
    '<title>',
    '</title>',
    '<script>',
    '</script >',
    '</scripty>',
    "<a b='c' b=d/e>",
  ],
  ...['<!doctype html>', 'é', '&amp;', 'a&lt', '<style/>', '</style', '<link rel = x href= "/y">', '\0'],
]
const pages = fc.array(fc.constantFrom(...words), { maxLength: 24 }).map((parts) => parts.join(''))

test('any text has the tags that a tokenizer of all of it finds', () => {
  fc.assert(
    fc.property(pages, (page) => {
      // Text that an element contains is whole with a tag behind it
      const text = `${page}>"'>--></title></textarea></script></style></noscript>`
      expect(comparable(ours(text)), JSON.stringify(text)).toEqual(theirs(text))
    }),
    { numRuns: 20_000 },
  )
})

test('text that comes in pieces has the tags of the whole, each told once, wherever it is cut', () => {
  fc.assert(
    fc.property(pages, fc.array(fc.nat(400), { maxLength: 4 }), (text, cuts) => {
      const inOrder = cuts.filter((cut) => cut < text.length).sort((a, b) => a - b)
      expect(ours(text, inOrder), JSON.stringify([text, inOrder])).toEqual(ours(text))
    }),
    { numRuns: 20_000 },
  )
})

test('nothing behind the tag that was enough is read, and nothing before the whole of a tag is told', () => {
  const seen: string[] = []
  const until = (last: string) => (tag: HeadTag) => {
    seen.push(tag.name)
    return tag.name !== last
  }
  expect(readTags('<a><b><c>', 0, until('b'))).toBe(-1)
  expect(seen.splice(0)).toEqual(['a', 'b'])
  expect(readTags('<title>x</title><meta name=', 0, until(''))).toBe(16)
  expect(seen.splice(0)).toEqual(['title', 'title'])
  expect(readTags('<a><script>if (a < b)', 0, until(''))).toBe(3)
  expect(seen).toEqual(['a'])
})

test('the steps grow as the text does, whatever is repeated in it', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 6 }), (parts) => {
      const page = parts.join('')
      const text = page.repeat(Math.ceil(8_192 / page.length))
      const steps = stepsOf(() => readTags(text, 0, () => true))
      expect(steps / text.length, JSON.stringify(page)).toBeLessThan(20)
    }),
    { numRuns: 2_000, examples: [[['<!--', '--!>']], [['<!--', 'a', '-', '-->']]] },
  )
})

/** Characters that were looked at: one by one, or passed over by a search. */
function stepsOf(work: () => void): number {
  const { indexOf, charCodeAt } = String.prototype
  let steps = 0
  String.prototype.indexOf = function (this: string, what, at = 0) {
    const found = indexOf.call(this, what, at)
    steps += (found < 0 ? this.length : found) - at + 1
    return found
  }
  String.prototype.charCodeAt = function (this: string, at) {
    steps++
    return charCodeAt.call(this, at)
  }
  try {
    work()
  } finally {
    Object.assign(String.prototype, { indexOf, charCodeAt })
  }
  return steps
}
