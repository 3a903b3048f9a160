/**
 * Compares our verdicts under profile `google` with google/robotstxt's own, over a folder of real files.
 *
 *   node test/robots/compare/google.ts --binary PATH --corpus FOLDER [--per-file BYTES] [--show N]
 *
 * The binary is a small wrapper around `RobotsMatcher::OneAgentAllowedByRobots`, built elsewhere. It reads records from
 * stdin, all numbers as 32 bits little-endian, all texts as length and octets: file; count of agents, agents; count of
 * URLs, URLs. For each record it prints one line of '1' (allowed) and '0', agent by agent.
 *
 * Agents: each token that the file names, and one that it does not. URLs: each pattern of the file turned into URLs, with
 * and without something more behind it, and some that every site has. Files over 500 KiB are cut first, as a crawler
 * does; Google's library leaves that to its caller. Exit code 1 when a difference is found that is not explained.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { parseRobots, policies, ROBOTS_MAX_BYTES } from '@decorum/robots'

const { values } = parseArgs({
  options: {
    binary: { type: 'string' },
    corpus: { type: 'string' },
    'per-file': { type: 'string', default: '150000000' },
    show: { type: 'string', default: '20' },
  },
})
if (!values.binary || !values.corpus) {
  console.error('usage: node test/robots/compare/google.ts --binary PATH --corpus FOLDER')
  process.exit(2)
}
const perFile = Number(values['per-file'])
const show = Number(values.show)

/** Files below a folder, in the order of their names. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)]))
}

/** The file as a crawler keeps it: whole lines of the first 500 KiB. */
function cut(body: Buffer): Buffer {
  if (body.length <= ROBOTS_MAX_BYTES) return body
  let end = ROBOTS_MAX_BYTES
  while (end > 0 && body[end] !== 10 && body[end] !== 13 && body[end - 1] !== 10 && body[end - 1] !== 13) end--
  return body.subarray(0, end)
}

const ALWAYS = [
  '/',
  '/index.html',
  '/a',
  '/wp-admin/admin-ajax.php',
  '/search?q=x&page=2',
  '/%E3%81%82?x=%2f',
  '/a/b/c.pdf',
]

/** URLs that a pattern may say something about: stars filled in three ways, with and without more behind. */
function urlsOf(pattern: string): string[] {
  const anchored = pattern.endsWith('$') ? pattern.slice(0, -1) : pattern
  const rooted = anchored.startsWith('/') ? anchored : anchored.startsWith('*') ? `/${anchored}` : `/${anchored}`
  const filled = [rooted.replaceAll('*', ''), rooted.replaceAll('*', 'x'), rooted.replaceAll('*', 'a/b?c=d')]
  return [...new Set(filled)].flatMap((path) => [path, `${path}x`, `${path}/index.html`, path.slice(0, -1)])
}

/** At most `count` of a list, evenly spread. */
function spread<T>(list: T[], count: number): T[] {
  if (list.length <= count) return list
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)] as T)
}

const ascii = (text: string): string => encodeURI(text).replaceAll('%25', '%')

interface Probe {
  file: string
  body: Buffer
  agents: string[]
  urls: string[]
}

function* probes(): Generator<Probe> {
  for (const file of filesBelow(values.corpus as string)) {
    if (!statSync(file).isFile()) continue
    const body = cut(readFileSync(file))
    const text = body.toString('utf8')
    const agents = new Set<string>()
    const patterns = new Set<string>()
    for (const line of text.split(/[\r\n]+/)) {
      const agent = /^\s*user.?agent\s*:?\s*([A-Za-z_-]+)/i.exec(line)?.[1]
      if (agent) agents.add(agent)
      const pattern = /^\s*(?:dis+|di)?al*[oa]w\w*\s*:?\s*([^#]*)/i.exec(line)?.[1]?.trim()
      if (pattern) patterns.add(pattern)
    }
    const named = [...agents, 'kestrelbot']
    const urls = [...new Set([...ALWAYS, ...[...patterns].flatMap(urlsOf)])].map(
      (path) => `http://host.example${ascii(path.toWellFormed())}`,
    )
    const affordable = Math.max(200, Math.floor(perFile / (body.length + 1)))
    const perAgent = Math.max(20, Math.floor(affordable / named.length))
    yield { file, body, agents: spread(named, Math.max(4, Math.floor(affordable / 20))), urls: spread(urls, perAgent) }
  }
}

function record(probe: Probe): Buffer {
  const parts: Buffer[] = []
  const number = (value: number): void => {
    const four = Buffer.alloc(4)
    four.writeUInt32LE(value)
    parts.push(four)
  }
  const octets = (value: Buffer): void => {
    number(value.length)
    parts.push(value)
  }
  octets(probe.body)
  for (const list of [probe.agents, probe.urls]) {
    number(list.length)
    for (const item of list) octets(Buffer.from(item))
  }
  return Buffer.concat(parts)
}

const reference = spawn(values.binary, { stdio: ['pipe', 'pipe', 'inherit'] })
const answers = createInterface({ input: reference.stdout })[Symbol.asyncIterator]()

let files = 0
let asked = 0
const differences = { nul: 0, blanks: 0, limit: 0, 'robots.txt': 0, unexplained: 0 }
const touched = new Set<string>()
for (const probe of probes()) {
  if (!reference.stdin.write(record(probe))) await once(reference.stdin, 'drain')
  const rules = parseRobots(probe.body, { policy: policies.google })
  const theirs = (await answers.next()).value as string
  let i = 0
  for (const agent of probe.agents)
    for (const url of probe.urls) {
      const ours = rules.isAllowed(url, agent)
      const google = theirs[i++] === '1'
      asked++
      if (ours === google) continue
      touched.add(probe.file)
      const reason = explain(probe, url)
      differences[reason]++
      if (differences[reason] <= show)
        console.log(`${reason}: ${probe.file}\n  ${agent} ${url}\n  ours ${ours}, google ${google}`)
    }
  files++
}
reference.stdin.end()
console.log(JSON.stringify({ files, probes: asked, differences, filesThatDiffer: touched.size }))
process.exitCode = differences.unexplained > 0 ? 1 : 0

/** The differences that docs/robots-differences.md lists. */
function explain(probe: Probe, url: string): keyof typeof differences {
  if (new URL(url).pathname === '/robots.txt') return 'robots.txt'
  if (probe.body.includes(0)) return 'nul'
  if (/[\v\f][ \t]*(?:[\r\n#]|$)|(?:^|[\r\n:])[ \t]*[\v\f]/.test(probe.body.toString('latin1'))) return 'blanks'
  if (parseRobots(probe.body).warnings.some((warning) => warning.kind === 'too-many-rules')) return 'limit'
  return 'unexplained'
}
