/** `decorum audit LOG...`: judges what sites recorded, of whatever crawler. docs/audit.md is the reader's page. */
import { loadAgents } from '@decorum/protocol'
import { type ProfileName, policies } from '@decorum/robots'
import { judgeRecord } from './judge-record.ts'
import { printReport } from './print-report.ts'
import { readLogs, readRobotsFolder, UnreadableLogError } from './read-logs.ts'
import { visitorsOf } from './visitors.ts'

/** The options as the command line has them: flags, and what they mean. */
export const AUDIT_OPTIONS: readonly (readonly [flags: string, meaning: string])[] = [
  ['--robots <dir>', 'robots.txt bodies for logs that hold none: HOST.txt, HOST_PORT.txt, robots.txt for the others'],
  ['--gap-ms <n>', 'least silence owed after each request, ms (default 1000)'],
  ['--cap-ms <n>', 'most silence that a crawl-delay can ask for, ms (default 10000)'],
  ['--agents <file>', 'agents of one fleet, which shares what it learns (as DECORUM_AGENTS); others are left out'],
  ['--agent <token>', 'all lines are of this one crawler, whatever their User-Agent'],
  ['--profile <name>', `how rules are read: ${Object.keys(policies).join(', ')} (default decorum)`],
  ['--origin <url>', 'whose access log it is, when its lines do not say'],
  ['--robots-retry-ms <n>', 'first retry of an unreachable robots.txt, ms, when not the profile’s'],
  ['--lanes <n>', 'how many lanes to list (default 10)'],
  ['--json', 'the whole report as JSON'],
]

/** As commander hands them over: texts, or numbers already. */
export type AuditOptions = {
  robots?: string
  gapMs?: string | number
  capMs?: string | number
  agents?: string
  agent?: string
  profile?: string
  origin?: string
  robotsRetryMs?: string | number
  lanes?: string | number
  json?: boolean
}

export type Out = { out: (text: string) => void; err: (text: string) => void }
const terminal: Out = { out: (text) => void process.stdout.write(text), err: (text) => void process.stderr.write(text) }

/** @returns the exit code: 0 no violation, 1 some, 2 the input or the options cannot be used */
export async function auditCommand(
  files: string[],
  options: AuditOptions,
  { out, err }: Out = terminal,
): Promise<0 | 1 | 2> {
  try {
    if (files.length === 0) throw new UsageError('no log to judge: name at least one file')
    const floorMs = number('--gap-ms', options.gapMs, 1_000)
    const capMs = number('--cap-ms', options.capMs, 10_000)
    const lanes = number('--lanes', options.lanes, 10)
    const visitors = visitorsOf({
      profile: profileOf(options.profile),
      floorMs,
      capMs,
      ...(options.agent === undefined ? {} : { agent: options.agent }),
      ...(options.agents === undefined
        ? {}
        : { agents: loadAgents({ agents: options.agents, defaultGapMs: floorMs, maxGapMs: capMs }) }),
    })
    const evidence = await readLogs(files, options.origin)
    const robotsByOrigin = options.robots === undefined ? undefined : await readRobotsFolder(options.robots)
    const robotsRetryMs =
      options.robotsRetryMs === undefined ? undefined : number('--robots-retry-ms', options.robotsRetryMs, 0)
    const report = judgeRecord(
      { ...evidence, ...(robotsByOrigin ? { robotsByOrigin } : {}) },
      { visitors, ...(robotsRetryMs === undefined ? {} : { robotsRetryMs }) },
    )
    if (report.requests === 0)
      throw new UnreadableLogError(
        `${files.join(', ')}: no request of the visitors to be judged (${report.leftOut} lines of others)`,
      )
    out(options.json ? `${JSON.stringify(report, null, 2)}\n` : printReport(report, lanes))
    return report.total === 0 ? 0 : 1
  } catch (error) {
    err(`decorum audit: ${error instanceof Error ? error.message : String(error)}\n`)
    return 2
  }
}

class UsageError extends Error {
  override readonly name = 'UsageError'
}

function number(flag: string, value: string | number | undefined, fallback: number): number {
  const given = value === undefined || value === '' ? fallback : Number(value)
  if (!Number.isFinite(given) || given < 0) throw new UsageError(`${flag}: '${value}' is not a number of at least 0`)
  return given
}

function profileOf(name: string | undefined): ProfileName {
  if (name === undefined) return 'decorum'
  if (Object.hasOwn(policies, name)) return name as ProfileName
  throw new UsageError(`--profile: '${name}' is none of ${Object.keys(policies).join(', ')}`)
}
