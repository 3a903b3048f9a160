/** What is named on the command line: a URL, an origin, an agent. */
import type { Agent, Agents } from '@decorum/config'
import { type CrawlUrl, readUrl } from '@decorum/protocol'
import { UsageError } from './exit.ts'
import { refusalOf } from './unusable-lines.ts'

/** @throws UsageError when it cannot be fetched, with the reason */
export function readTarget(text: string): CrawlUrl {
  const at = readUrl(text)
  if ('refused' in at) throw new UsageError(refusalOf(text))
  return at
}

/** @returns undefined when none is named. @throws UsageError that lists the known ones */
export function agentNamed({ list, find }: Agents, name: string | undefined): Agent | undefined {
  const found = name === undefined ? undefined : find(name)
  if (found !== undefined || name === undefined) return found
  throw new UsageError(`no agent is called '${name}'; DECORUM_AGENTS has ${list.map((one) => one.name).join(', ')}`)
}
