#!/usr/bin/env node
/** `robots check|lint|diff`: applies a robots.txt to a URL, lists its mistakes, and compares two versions. */
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { robotsCache } from './cache.ts'
import { explainCheck, printCheck } from './check.ts'
import { parseRobots } from './parse.ts'
import { policies } from './policies.ts'
import type { ProfileName } from './readings.ts'
import { reportLines } from './report.ts'
import type { RobotsTxt } from './robots-txt.ts'

const USAGE = `usage: robots check URL [--agent NAME] [--profile NAME|all] [--robots FILE|-] [--user-agent TEXT] [--json]
       robots lint FILE|- [--profile NAME] [--lines] [--json]
       robots diff FILE FILE [--profile NAME] [--json]

check fetches the site's robots.txt unless --robots names a file. Profiles: ${Object.keys(policies).join(', ')}.
Exit: 0 done (lint: no warnings, diff: no difference), 1 otherwise, 2 usage.`

class UsageError extends Error {}

const { values, positionals } = readArgs()

function readArgs() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        agent: { type: 'string', default: '*' },
        profile: { type: 'string', default: 'decorum' },
        robots: { type: 'string' },
        'user-agent': { type: 'string', default: 'robots-check (npm @decorum/robots)' },
        lines: { type: 'boolean' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`)
    process.exit(2)
  }
}

function profiles(): ProfileName[] {
  const names = Object.keys(policies) as ProfileName[]
  if (values.profile === 'all') return names
  const found = names.find((name) => name === values.profile)
  if (found === undefined) throw new UsageError(`there is no profile ${values.profile}`)
  return [found]
}

async function bytesOf(file: string | undefined): Promise<Uint8Array> {
  if (file === undefined) throw new UsageError('which file?')
  try {
    return file === '-' ? await buffer(process.stdin) : await readFile(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(`${file} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}`)
  }
}

function output(data: unknown, text: string): void {
  process.stdout.write(`${values.json ? JSON.stringify(data) : text.trimEnd()}\n`)
}

async function check(url: string | undefined): Promise<number> {
  if (url === undefined || !URL.canParse(url)) throw new UsageError('which URL?')
  let robots: Uint8Array | string
  if (values.robots === undefined) {
    const cache = robotsCache({
      userAgent: values['user-agent'],
      agent: values.agent,
      policy: policies[profiles()[0] as ProfileName],
    })
    const judged = await cache.judge(url)
    const rules = await cache.rules(url)
    if (rules === undefined) {
      const why = judged.kind === 'allowed' ? 'no robots.txt, no restriction' : 'its robots.txt is unreachable now'
      output(judged, `${judged.kind === 'allowed' ? 'allowed' : 'NOT NOW'}: ${why}`)
      return judged.kind === 'allowed' ? 0 : 1
    }
    robots = String(rules)
  } else robots = await bytesOf(values.robots)
  const explained = explainCheck({
    url,
    robots,
    agent: values.agent,
    profiles: profiles(),
    floorMs: 0,
    capMs: Infinity,
  })
  output(explained, printCheck(explained))
  return 0
}

async function lint(file: string | undefined): Promise<number> {
  const bytes = await bytesOf(file)
  const policy = policies[profiles()[0] as ProfileName]
  const { warnings } = parseRobots(bytes, { policy })
  const lines = reportLines(bytes, { policy })
  const text = values.lines
    ? lines.map(({ line, kind, field, value }) => `${line}\t${field ?? kind}\t${JSON.stringify(value ?? '')}`)
    : warnings.map(({ line, kind, text: message }) => `line ${line}: ${kind}: ${message}`)
  output({ warnings, ...(values.lines ? { lines } : {}) }, text.join('\n') || 'no warnings')
  return warnings.length > 0 ? 1 : 0
}

/** Each rule, delay and sitemap of a file as one line that does not depend on its position. */
function statements(robots: RobotsTxt): Set<string> {
  const all = new Set(robots.sitemaps.map((url) => `sitemap: ${url}`))
  for (const { agents, rules } of robots.groups())
    for (const agent of agents) {
      all.add(`${agent.toLowerCase()}: a group`)
      for (const { type, pattern } of rules) if (pattern !== '') all.add(`${agent.toLowerCase()}: ${type} ${pattern}`)
      const delay = robots.crawlDelay(agent)
      if (delay !== undefined) all.add(`${agent.toLowerCase()}: crawl-delay ${delay}`)
    }
  return all
}

async function diff(one: string | undefined, other: string | undefined): Promise<number> {
  const policy = policies[profiles()[0] as ProfileName]
  const before = statements(parseRobots(await bytesOf(one), { policy }))
  const after = statements(parseRobots(await bytesOf(other), { policy }))
  const removed = [...before].filter((statement) => !after.has(statement))
  const added = [...after].filter((statement) => !before.has(statement))
  output(
    { removed, added },
    [...removed.map((text) => `- ${text}`), ...added.map((text) => `+ ${text}`)].join('\n') || 'no difference',
  )
  return removed.length + added.length > 0 ? 1 : 0
}

async function main(): Promise<number> {
  const [command, first, second] = positionals
  if (values.help) {
    process.stdout.write(`${USAGE}\n`)
    return 0
  }
  if (command === 'check') return check(first)
  if (command === 'lint') return lint(first)
  if (command === 'diff') return diff(first, second)
  throw new UsageError(command === undefined ? 'check, lint or diff?' : `there is no command ${command}`)
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n${USAGE}\n`)
  process.exitCode = 2
}
