/** `decorum audit LOG...`: judges what sites recorded, of whatever crawler. docs/audit.md is the reader's page. */
import { loadAgents, loadPaceGroups, type PaceGroups, printable, printableAll, printableJson } from '@decorum/protocol'
import { type ProfileName, policies } from '@decorum/robots'
import { DONE, FAILED, UsageError } from '../exit.ts'
import { tellStyled } from '../terminal.ts'
import { judgeRecord } from './judge-record.ts'
import { printReport } from './print-report.ts'
import { readLogs, readRobotsFolder, UnreadableLogError } from './read-logs.ts'
import type { Evidence } from './record.ts'
import { type Visitors, visitorsOf } from './visitors.ts'

/** As commander hands them over: texts, or numbers already. */
export type AuditOptions = {
  /** robots.txt bodies for logs that hold none: HOST.txt, HOST_PORT.txt, robots.txt for the others */
  robots?: string
  /** least silence owed after each request, ms (1000) */
  gapMs?: string | number
  /** most silence that a crawl-delay can ask for, ms (10000) */
  capMs?: string | number
  /** agents of one fleet, which shares what it learns: path or inline JSON, as DECORUM_AGENTS; others are left out */
  agents?: string
  /** all lines are of this one crawler, whatever their User-Agent */
  agent?: string
  /** how rules are read (decorum) */
  profile?: string
  /** whose access log it is, when its lines do not say */
  origin?: string
  /** first retry of an unreachable robots.txt, ms, when not the profile's */
  robotsRetryMs?: string | number
  /** PACE_GROUPS of the fleet, path or inline JSON: clocks that several lanes share; absent: none */
  paceGroups?: string
  /** how many lanes are listed (10) */
  lanes?: string | number
  /** the whole report as JSON */
  json?: boolean
}

/**
 * @returns  0 no violation, 1 some
 * @throws   UsageError when a log (named with its line), a folder or an option cannot be used
 */
export async function auditCommand(
  files: string[],
  options: AuditOptions,
  print: (text: string) => void = (text) => tellStyled(text),
): Promise<typeof DONE | typeof FAILED> {
  if (files.length === 0) throw new UsageError('audit: no log to judge; name at least one file')
  const visitors = readVisitors(options)
  const lanes = number('--lanes', options.lanes, 10)
  const retryMs =
    options.robotsRetryMs === undefined ? undefined : number('--robots-retry-ms', options.robotsRetryMs, 0)
  const evidence = await readEvidence(files, options)
  const paceGroups = options.paceGroups === undefined ? undefined : readPaceGroups(options.paceGroups)
  const report = judgeRecord(evidence, {
    visitors,
    ...(retryMs === undefined ? {} : { robotsRetryMs: retryMs }),
    ...(paceGroups === undefined ? {} : { paceGroups }),
  })
  if (report.requests === 0) {
    throw new UsageError(
      `audit: ${files.join(', ')}: no request of the visitors to be judged (${report.leftOut} of others)`,
    )
  }
  print(options.json ? `${printableJson(report, 2)}\n` : printReport(printableAll(report), lanes))
  return report.total === 0 ? DONE : FAILED
}

function readVisitors(options: AuditOptions): Visitors {
  const floorMs = number('--gap-ms', options.gapMs, 1_000)
  const capMs = number('--cap-ms', options.capMs, 10_000)
  const settings = { profile: profileOf(options.profile), floorMs, capMs }
  if (options.agents === undefined) {
    return visitorsOf(options.agent === undefined ? settings : { ...settings, agent: options.agent })
  }
  try {
    return visitorsOf({
      ...settings,
      agents: loadAgents({ agents: options.agents, defaultGapMs: floorMs, maxGapMs: capMs }),
    })
  } catch (error) {
    throw new UsageError(`audit: --agents: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function readPaceGroups(text: string): PaceGroups {
  try {
    return loadPaceGroups(text)
  } catch (error) {
    throw new UsageError(`audit: --pace-groups: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function readEvidence(files: string[], { origin, robots }: AuditOptions): Promise<Evidence> {
  try {
    const evidence = await readLogs(files, origin)
    return robots === undefined ? evidence : { ...evidence, robotsByOrigin: await readRobotsFolder(robots) }
  } catch (error) {
    throw error instanceof UnreadableLogError ? new UsageError(`audit: ${printable(error.message)}`) : error
  }
}

function number(flag: string, value: string | number | undefined, fallback: number): number {
  const given = value === undefined || value === '' ? fallback : Number(value)
  if (!Number.isFinite(given) || given < 0)
    throw new UsageError(`audit: ${flag}: '${value}' is not a number of at least 0`)
  return given
}

function profileOf(name = 'decorum'): ProfileName {
  if (Object.hasOwn(policies, name)) return name as ProfileName
  throw new UsageError(`audit: --profile: '${name}' is none of ${Object.keys(policies).join(', ')}`)
}
