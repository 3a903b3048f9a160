import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Report } from '@decorum/audit'
import type { Outcome } from '@decorum/protocol'
import { afterAll, expect, test } from 'vitest'
import { recordedWeb } from '../support/origins/index.ts'
import { fleetEnv, LONG_LEASES } from './fleet.ts'

const CLI = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
const run = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'decorum-crawl-'))
afterAll(() => rm(folder, { recursive: true }))

test('`decorum crawl` of a list over thirty sites, judged by `decorum audit` on the sites’ own record', async () => {
  const web = await recordedWeb(
    Array.from({ length: 30 }, (_, n) => ({
      name: `site-${n}`,
      robots: { body: 'User-agent: *\nDisallow: /private/\nCrawl-delay: 0.1' },
    })),
  )
  try {
    const origins = Object.values(web.origins)
    const pages = ['a', 'b', 'c', 'private/d', 'e'].flatMap((page) => origins.map((origin) => `${origin}/${page}`))
    await writeFile(join(folder, 'urls.txt'), `# a comment\n\n${pages.join('\n')}\nnot a URL\n`)
    const { REDIS_URL: _none, ...env } = fleetEnv('', {
      ...LONG_LEASES,
      DEFAULT_DELAY_MS: '100',
      XDG_DATA_HOME: folder,
    })
    const options = { env, maxBuffer: 1e8, timeout: 300_000 }
    await run(
      process.execPath,
      [
        CLI,
        'crawl',
        join(folder, 'urls.txt'),
        '--out',
        join(folder, 'out'),
        '--gateways',
        '2',
        '--fetchers',
        '2',
        '--json',
      ],
      options,
    )
    const text = await readFile(join(folder, 'out', 'outcomes.ndjson'), 'utf8')
    const outcomes = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Outcome)
    const kinds = Map.groupBy(outcomes, ({ kind }) => kind)
    expect([kinds.get('fetched')?.length, kinds.get('disallowed')?.length, kinds.get('invalid')?.length]).toEqual([
      120, 30, 1,
    ])
    expect(outcomes).toHaveLength(pages.length + 1)

    await web.flush()
    const audit = await run(
      process.execPath,
      [CLI, 'audit', web.record, '--agent', 'journeybot', '--delay-ms', '100', '--json'],
      options,
    )
    const report = JSON.parse(audit.stdout) as Report
    expect(report.examples).toEqual([])
    expect(report).toMatchObject({
      total: 0,
      requests: 150,
      origins: 30,
      robotsFetches: { all: 30, most: 1 },
      unjudged: 0,
    })
  } finally {
    await web.close()
  }
})
