/**
 * Candidates as anybody could write them, as JSON text: what JSON.stringify would not write is among them (1e999, members
 * called `__proto__`, halves of surrogate pairs, numbers of 64 bits). Most are nearly right, so that they get far.
 */
import fc from 'fast-check'

/** The text of one candidate. @param index  makes the ids that are its own unique */
export type Written = (index: number) => string

const HOSTS = 400
/** That candidates name; the first is of those that name none. */
export const CRAWLS = ['default', 'news', 'a-1'] as const
const text = (value: unknown): string => JSON.stringify(value)

const oddNumber = fc.constantFrom(
  '1e999',
  '-1e999',
  '1.7976931348623157e308',
  '9007199254740993',
  '18446744073709551615',
  '1e300',
  '5e-324',
  '-0',
  '-1',
  '0',
  '1.5',
  '8640000000000000',
  '8640000000000001',
  '1e21',
)
const oddText = fc.constantFrom(
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\u0000"',
  '""',
  '"%"',
  '"%ZZ"',
  '"|+ \\t|"',
  '"\\u2028"',
  '"__proto__"',
  text('\u{1f600}'.repeat(40)),
  text('x'.repeat(129)),
)
const oddValue = fc.oneof(
  oddNumber,
  oddText,
  fc.constantFrom('null', 'true', '[]', '{}', '[[]]', '{"a":1}', '"2026-01-01"'),
  fc.json({ maxDepth: 3 }),
)
function mostly(usual: fc.Arbitrary<string>, odd: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: odd })
}
const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
const meta = fc.oneof(
  { weight: 12, arbitrary: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }).map(text) },
  { weight: 2, arbitrary: fc.tuple(oddText, oddValue).map(([key, value]) => `{${key}:${value}}`) },
  { weight: 1, arbitrary: oddValue },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      `{"deep":${deep(1_500)}}`,
      `{"deep":${deep(5_000)}}`,
      text({ a: 'é'.repeat(2_000) }),
      text({ a: 'é'.repeat(2_100) }),
      '{"__proto__":{"a":1},"toJSON":1,"constructor":null}',
      '{"a":1,"a":2}',
    ),
  },
)

const path = fc.oneof(
  fc.webPath(),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('', 'a b', '%', '?q=1&q=2', '#f', '\\', '..', '\ud800', 'x'.repeat(2_100), '/'),
)
const url = fc.oneof(
  { weight: 30, arbitrary: fc.tuple(fc.nat(HOSTS - 1), path).map(([n, rest]) => text(`http://h${n}.test/${rest}`)) },
  { weight: 2, arbitrary: fc.nat(7).map((n) => text(`https://h${n}.test:8443/`)) },
  { weight: 1, arbitrary: fc.webUrl().map(text) },
  { weight: 2, arbitrary: oddValue },
  {
    weight: 1,
    arbitrary: fc.constantFrom('ftp://a.test/', 'http://u:p@a.test/', 'http://a..b/', 'http://[::1]/', '//x').map(text),
  },
)

/** Own ids begin with their index, so that no two are the same; those that are refused are told by their assigned one. */
const id: fc.Arbitrary<Written> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.string({ unit: 'binary', maxLength: 40 }).map(
      (rest): Written =>
        (index) =>
          text(`${index}:${rest.toWellFormed()}`),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('#:x', '~1~0123456789', '').map(
      (one): Written =>
        (index) =>
          text(one.startsWith('~') ? `${index}${one}` : one),
    ),
  },
  {
    weight: 1,
    arbitrary: oddValue.map(
      (one): Written =>
        (index) =>
          one.startsWith('"') ? `"${index}\\ud800"` : one,
    ),
  },
)

const HOUR = 3_600_000
const instant = mostly(
  fc.nat(1_000 * HOUR).map((ahead) => String(Date.now() + HOUR + ahead)),
  fc.oneof(fc.double({ min: 0, max: 1e12, noNaN: true }).map(String), oddNumber, oddValue),
)

/** A member that is left out once in so many times. */
const maybe = <T>(once: number, arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: once })

/** A member that makes a candidate rare. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

const nearlyRight = fc
  .record({
    url: maybe(30, url),
    id: maybe(3, id),
    agent: maybe(
      2,
      mostly(fc.constantFrom('"bot"', '"OTHER"', '"other"'), fc.constantFrom('"nobody"', '"\ud800"', '7')),
    ),
    priority: maybe(2, mostly(fc.constantFrom('"high"', '"normal"'), fc.constantFrom('"urgent"', 'null'))),
    expiresAt: maybe(2, instant),
    meta: maybe(2, meta),
    crawl: seldom(
      mostly(
        fc.constantFrom(...CRAWLS.map(text)),
        fc.oneof(fc.constantFrom('"News"', '""', text('x'.repeat(65))), oddValue),
      ),
    ),
    method: seldom(mostly(fc.constantFrom('"GET"', '"HEAD"'), oddValue)),
    headers: seldom(mostly(fc.constantFrom('{"accept-language":"de"}', '{}'), fc.oneof(meta, oddValue))),
    maxBytes: seldom(mostly(fc.constantFrom('1', '1e6'), oddNumber)),
    hops: maybe(2, mostly(fc.constantFrom('0', '1', '10', '-0'), fc.constantFrom('11', '1.5', '"1"'))),
    // A member that does not exist: seldom, because it makes the candidate invalid before anything else is looked at
    more: fc.oneof({ weight: 7, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.tuple(oddText, oddValue) }),
  })
  .map(({ id: own, more, ...members }): Written => {
    const rest = Object.entries(members).flatMap(([name, value]) => (value === null ? [] : [`"${name}":${value}`]))
    if (more !== null) rest.push(`${more[0]}:${more[1]}`)
    return (index) => `{${[...rest, ...(own === null ? [] : [`"id":${own(index)}`])].join(',')}}`
  })

export const anyCandidate: fc.Arbitrary<Written> = fc.oneof(
  { weight: 30, arbitrary: nearlyRight },
  {
    weight: 1,
    arbitrary: oddValue.map(
      (one): Written =>
        () =>
          one,
    ),
  },
)
