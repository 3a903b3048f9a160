/** `decorum url why` and `decorum url cancel`: show where one candidate is, or end it before its request. */
import { type CandidateStatus, cancelCandidate, candidateStatus, type WhichCandidate } from '@decorum/console/status'
import { printable } from '@decorum/protocol'
import { agreedSettings } from '../agreed-settings.ts'
import { CommandError, UsageError } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { printResult } from '../terminal.ts'
import { agentNamed, readTarget } from '../typed.ts'

export type CandidateOptions = { json?: boolean; url?: string; agent?: string; crawl: string }

/** @param text  a URL, or an id */
export async function why(text: string, options: CandidateOptions): Promise<void> {
  const isUrl = /^https?:/i.test(text)
  if (isUrl && options.url !== undefined) throw new UsageError('the URL is given twice: leave out --url')
  const which = await whichOf(isUrl ? { ...options, url: text } : options)
  return withFleetLedger(async ({ ledger }) => {
    const { found, notSearched } = await candidateStatus(ledger, isUrl ? which : { ...which, id: text })
    if (found.length === 0) throw notFound(text, notSearched)
    printResult(options.json, { candidates: found }, found.map(lineOf).join('\n'))
  })
}

export async function cancel(id: string, options: CandidateOptions): Promise<void> {
  const which = await whichOf(options)
  return withFleetLedger(async ({ ledger }) => {
    const answer = await cancelCandidate(ledger, { ...which, id })
    const name = printable(id)
    if (answer.kind === 'in-flight')
      throw new CommandError(
        `'${name}' was not cancelled: its request may have been sent already, its outcome will come`,
      )
    if (answer.kind === 'absent')
      throw answer.status === undefined
        ? notFound(id, answer.notSearched)
        : new CommandError(`'${name}' was not cancelled: ${printable(answer.status.sentence)}`)
    printResult(options.json, answer.outcome, `cancelled: ${printable(answer.outcome.url)}`)
  })
}

const notFound = (text: string, notSearched: string[]): CommandError =>
  new CommandError(`'${printable(text)}' was not found. Not searched:\n  ${notSearched.join('\n  ')}`)

async function whichOf({ url, agent, crawl }: CandidateOptions): Promise<WhichCandidate> {
  const { agents } = await agreedSettings()
  const only = agentNamed(agents, agent)
  const keys = (only === undefined ? agents.list : [only]).map(({ key }) => key)
  return { agents: keys, crawl, ...(url === undefined ? {} : { at: readTarget(url) }) }
}

const lineOf = ({ id = '', url = '', agent, sentence }: CandidateStatus): string =>
  printable(`${[id, url, agent].filter(Boolean).join(' ')}: ${sentence}`)
