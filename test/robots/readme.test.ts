/** The examples of the package's README: their code is run as it stands there, and its comments are held against it. */
// oxlint-disable typescript/no-implied-eval -- what is run here is the README's own code
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as robots from '@decorum/robots'
import { expect, test } from 'vitest'

const readme = readFileSync(join(import.meta.dirname, '../../packages/robots/README.md'), 'utf8')
const examples = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code as string)
const first = examples.find((code) => code.includes('robots.explain(')) ?? ''
const second = examples.find((code) => code.includes('unknownOrigin')) ?? ''
const polite = examples.find((code) => code.startsWith('// polite.mjs')) ?? ''

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

test('the example that fetches runs as it is printed, in a file of its own', async () => {
  const server = createServer((request, response) => {
    response.end(request.url === '/robots.txt' ? 'user-agent: *\ndisallow: /search\ncrawl-delay: 0.01' : 'a page')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.83.17.3', resolve))
  // Not within the repository, whose files other tests and checks list and read.
  const folder = mkdtempSync(join(tmpdir(), 'readme-'))
  try {
    mkdirSync(join(folder, 'node_modules/@decorum'), { recursive: true })
    symlinkSync(join(import.meta.dirname, '../../packages/robots'), join(folder, 'node_modules/@decorum/robots'))
    writeFileSync(join(folder, 'polite.mjs'), polite)
    const origin = `http://127.83.17.3:${(server.address() as AddressInfo).port}`
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(folder, 'polite.mjs'),
      `${origin}/`,
      `${origin}/search?q=x`,
    ])
    expect(stdout).toBe(`${origin}/ 200 6\n${origin}/search?q=x refused by line 2\n`)
    expect(polite.trimEnd().split('\n').length).toBeLessThanOrEqual(22)
  } finally {
    rmSync(folder, { recursive: true })
    server.close()
  }
})
