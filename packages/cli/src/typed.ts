/** Reads URLs, origins and names of agents from the command line. */
import type { Agent, Agents } from '@decorum/config'
import { type CrawlUrl, readUrl } from '@decorum/protocol'
import { UsageError } from './exit.ts'
import { refusalOf } from './unusable-lines.ts'

/** @throws UsageError with the reason when the URL cannot be requested */
export function readTarget(text: string): CrawlUrl {
  const at = readUrl(text)
  if ('refused' in at) throw new UsageError(refusalOf(text))
  return at
}

/** @returns undefined without a name. @throws UsageError for an unknown name, which lists the agents */
export function agentNamed({ list, find }: Agents, name: string | undefined): Agent | undefined {
  const found = name === undefined ? undefined : find(name)
  if (found !== undefined || name === undefined) return found
  throw new UsageError(`no agent is called '${name}'; DECORUM_AGENTS has ${list.map((one) => one.name).join(', ')}`)
}
