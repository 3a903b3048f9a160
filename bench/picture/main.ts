/**
 * Draws the picture of the README anew: `node bench/picture/main.ts`. Three processes of a crawler visit one site on loopback, bare and through
 * `decorum guard`; the auditor judges what the site recorded.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agentsOf, judgeRecord, readLogs } from '@decorum/audit'
import { spawnWeb } from '@decorum/cli/synthetic-web'
import { type Drawn, draw, THEMES } from './draw.ts'

const OWED_MS = 500
const PAGES = 24
const PROCESSES = 3
const ROOT = join(import.meta.dirname, '../..')
const LOOP = join(import.meta.dirname, 'loop.mjs')

async function visit(isThrough: boolean): Promise<Drawn[]> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-picture-'))
  const record = join(folder, 'visits.ndjson')
  const answers = Array.from({ length: PAGES }, (_, n) => ({ delayMs: 40 + ((n * 67) % 120) }))
  const site = { name: 's', robots: { body: 'User-agent: *\nDisallow: /no\n' }, pages: { cycle: answers } }
  const web = await spawnWeb({ sites: [site], record })
  try {
    const parts = Array.from({ length: PROCESSES }, (_, part) => {
      const urls = Array.from({ length: PAGES / PROCESSES }, (_, n) => `${web.origins.s}/${n * PROCESSES + part}`)
      return `'${process.execPath}' '${LOOP}' ${isThrough ? 0 : OWED_MS} ${urls.join(' ')} &`
    })
    const script = join(folder, 'crawl.sh')
    await writeFile(script, [...parts, 'wait', ''].join('\n'))
    const cli = [process.execPath, join(ROOT, 'packages/cli/src/main.ts'), 'guard', '--']
    const [program, ...args] = [...(isThrough ? cli : []), '/bin/sh', script]
    const env = {
      ...process.env,
      XDG_DATA_HOME: folder,
      DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
      DEFAULT_DELAY_MS: String(OWED_MS),
    }
    const [code] = (await once(spawn(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }), 'exit')) as [
      number,
    ]
    if (code !== 0) throw new Error(`the crawl ended with ${code}`)
    await web.flush()
    const evidence = await readLogs([record])
    const { examples } = judgeRecord(evidence, {
      agents: agentsOf({ agent: 'anybody', profile: 'decorum', minDelayMs: OWED_MS, maxDelayMs: 10_000 }),
      examples: 1_000,
    })
    const tooEarly = new Map(
      examples
        .filter(({ offence }) => offence === 'overlap' || offence === 'short-delay')
        .map(({ line, offence }): [number, string] => [line.line, offence]),
    )
    const from = Math.min(...evidence.requests.map(({ start }) => start))
    return evidence.requests.map(({ start, end }, at) => ({
      start: start - from,
      end: end - from,
      offence: tooEarly.get(at + 1),
    }))
  } finally {
    await web.stop()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const panels = [
  { title: 'Three processes of a crawler, each with a delay of its own', requests: await visit(false) },
  { title: 'The same three through Decorum', requests: await visit(true) },
]
for (const [theme, colours] of Object.entries(THEMES))
  await writeFile(join(ROOT, `docs/images/requests-${theme}.svg`), draw(panels, OWED_MS, colours))
for (const { title, requests } of panels)
  process.stdout.write(
    `${title}: ${requests.length} requests, ${requests.filter(({ offence }) => offence).length} too early\n`,
  )
