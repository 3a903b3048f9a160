/** `decorum audit LOG...`: judges the access logs of sites, for any crawler. User documentation: docs/audit.md. */
import { writeFile } from 'node:fs/promises'
import {
  type AgentFinder,
  agentsOf,
  auditLogs,
  exitCodeOf,
  htmlReport,
  printableJson,
  readRobotsFolder,
  readStopsFile,
  reportSchema,
  textReport,
  UnreadableLogError,
} from '@decorum/audit'
import { loadAgents } from '@decorum/config'
import { loadPaceGroups, type PaceGroups, policyHistory } from '@decorum/politeness'
import { printable } from '@decorum/protocol'
import type { ProfileName } from '@decorum/robots'
import { defined } from '@decorum/runtime/defined'
import { DONE, type ExitCode, messageOf, UsageError } from '../exit.ts'
import { readPoliciesFile } from '../policies-file.ts'
import { warn, writeLines } from '../terminal.ts'

export type AuditOptions = {
  /** robots.txt bodies for logs that hold none: HOST.txt, HOST_PORT.txt, robots.txt for all other hosts */
  robots?: string
  /** minimum delay owed after each request, ms (1000) */
  delayMs?: number
  /** maximum delay that a crawl-delay can request, ms (10000) */
  maxDelayMs?: number
  /** agents of one fleet, which shares its robots rules: path or inline JSON, as DECORUM_AGENTS; others are left out */
  agents?: string
  /** the one agent to which all lines are attributed, whatever their User-Agent */
  agent?: string
  /** a name in the User-Agent of the only crawler to judge; requests of others are left out */
  only?: string
  /** profile by which robots.txt is read (decorum) */
  profile?: ProfileName
  /** the host of the access log, when its lines do not name it */
  origin?: string
  /** the logs continue older ones: for a day, the crawler may use rules that it fetched before */
  continues?: boolean
  /** first retry of an unreachable robots.txt, ms, if it differs from the profile's */
  robotsRetryMs?: number
  /** PACE_GROUPS of the fleet, path or inline JSON: delays that several lanes share; absent: none */
  paceGroups?: string
  /** emergency stops of the fleet: output of `decorum stop list --ended --json`; absent: none */
  stops?: string
  /** policies of sites: output of `decorum config policies --json`; absent: none */
  sitePolicies?: string
  /** number of lanes that the text report lists (10) */
  lanes?: number
  /** file for the report as an HTML page; '-': standard output */
  html?: string
  /** the whole report as JSON */
  json?: boolean
  /** print only the JSON schema of the report */
  schema?: boolean
}

/** Largest number of lanes that the HTML page draws. */
const LANES_DRAWN = 20

/**
 * @returns  0 judged and clean, 1 violations, 4 clean but part of it could not be judged
 * @throws   UsageError when a log, a folder or an option cannot be used
 */
export async function auditCommand(
  files: string[],
  options: AuditOptions,
  print: (text: string) => void = (text) => void writeLines(text), // reports contain no control sequences for a terminal
): Promise<ExitCode> {
  if (options.schema) {
    print(`${JSON.stringify(reportSchema, null, 2)}\n`)
    return DONE
  }
  if (files.length === 0)
    throw new UsageError('audit: no log to judge; name at least one file, or - for standard input')
  const agents = readAgents(options)
  const { robots, origin, html, stops, sitePolicies, robotsRetryMs, lanes = 10, continues = false } = options
  const paceGroups = options.paceGroups === undefined ? undefined : readPaceGroups(options.paceGroups)
  const policies = sitePolicies === undefined ? undefined : policyHistory(await readPoliciesFile(sitePolicies))
  const report = await readable(async () =>
    auditLogs(files, {
      agents,
      continues,
      ...defined({
        origin,
        robotsRetryMs,
        paceGroups,
        robotsByOrigin: robots === undefined ? undefined : await readRobotsFolder(robots),
        stops: stops === undefined ? undefined : await readStopsFile(stops),
        sitePolicies: policies,
        timelines: html === undefined ? undefined : LANES_DRAWN,
      }),
    }),
  )
  if (report.requests === 0) {
    throw new UsageError(
      `audit: ${files.join(', ')}: no request is by an agent to be judged (${report.leftOut} are by others)`,
    )
  }
  if (html !== undefined && html !== '-') {
    await writeFile(html, htmlReport(report)).catch((error: Error) => {
      throw new UsageError(`audit: --html: ${error.message}`)
    })
    warn(`the report as a page: ${printable(html)}`)
  }
  if (html === '-') print(htmlReport(report))
  else
    print(
      options.json ? `${printableJson(JSON.stringify(report, null, 2))}\n` : textReport(report, { lanes, printable }),
    )
  return exitCodeOf(report)
}

async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof UnreadableLogError ? new UsageError(`audit: ${error.message}`) : error
  }
}

function readAgents({ agents, agent, only, profile = 'decorum', ...delays }: AuditOptions): AgentFinder {
  const { delayMs: minDelayMs = 1_000, maxDelayMs = 10_000 } = delays
  if ([agents, agent, only].filter((one) => one !== undefined).length > 1)
    throw new UsageError('audit: --agents, --agent or --only: only one of them can be given')
  const settings = { profile, minDelayMs, maxDelayMs }
  if (agents === undefined) return agentsOf({ ...settings, ...defined({ agent, only }) })
  const load = () => loadAgents({ agents, defaultDelayMs: minDelayMs, maxDelayMs })
  return agentsOf({ ...settings, agents: readOption('--agents', load) })
}

const readPaceGroups = (text: string): PaceGroups => readOption('--pace-groups', () => loadPaceGroups(text))

function readOption<T>(flag: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UsageError(`audit: ${flag}: ${messageOf(error)}`)
  }
}
