/** The examples of the package's README: their code is run as it stands there, and its comments are held against it. */
// oxlint-disable typescript/no-implied-eval -- what is run here is the README's own code
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as robots from '@decorum/robots'
import { expect, test } from 'vitest'

const readme = readFileSync(join(import.meta.dirname, '../../packages/robots/README.md'), 'utf8')
const [first = '', second = ''] = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code as string)

/** Runs an example: its import gives way to the module at hand, `names` are what it may use besides. */
function run(code: string, names: Record<string, unknown>, result: string): Promise<unknown> {
  const body = code.replace(/^import .*$/m, '')
  const all = { ...robots, ...names }
  const make = new Function(...Object.keys(all), `return (async () => { ${body}\nreturn ${result} })()`) as (
    ...values: unknown[]
  ) => Promise<unknown>
  return make(...Object.values(all))
}

const file = [
  '# shop',
  'User-agent: *',
  '',
  '',
  '',
  '',
  'Disallow: /shop',
  'Allow: /',
  'disalow: /x',
  'Crawl-delay: 2',
  'Sitemap: https://example.org/s.xml',
  '',
].join('\n')

test('reading a file, and asking it', async () => {
  const answer = (await run(
    first,
    { fetch: async () => new Response(file) },
    `[robots.isAllowed('https://example.org/shop?id=1', 'MyBot/1.0 (+https://my.example/bot)'), robots.explain('https://example.org/shop?id=1', ['mybot-images', 'mybot']), robots.crawlDelay('mybot'), robots.sitemaps, robots.warnings]`,
  )) as [boolean, object, number, string[], object[]]
  expect(answer[0]).toBe(false)
  // Each comment that shows an object shows this one.
  const shown = [...first.matchAll(/^\/\/ (\{ allowed[^\n]*(?:\n\/\/ {3}[^\n]*)*\})$/gm)].map(([, text]) =>
    (text as string).replaceAll('\n//', ''),
  )
  expect(shown).toHaveLength(1)
  expect(answer[1]).toEqual(new Function(`return ${shown[0]}`)())
  expect(answer[2]).toBe(2)
  expect(answer[3]).toEqual(['https://example.org/s.xml'])
  const warnings = /robots\.warnings \/\/ (\[.*\])/.exec(first)?.[1]
  expect(answer[4]).toEqual(new Function(`return ${warnings}`)())
})

test('what an origin comes to', async () => {
  const bodies = new Map([['sha256 of the body', file]])
  const state = (await run(second, { url: 'https://example.org/shop', bodies }, 'state')) as robots.RobotsState
  expect(state.copy).toMatchObject({ kind: 'ok', hash: 'sha256 of the body', etag: '"x"' })
  const judged = robots.judge(
    { ...state, rules: robots.parseRobots(file) },
    'https://example.org/shop',
    'mybot',
    robots.policies.decorum,
    Date.now(),
  )
  expect(judged).toMatchObject({ kind: 'refused', refresh: false, stale: false })
})
