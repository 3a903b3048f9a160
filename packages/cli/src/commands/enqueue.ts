/** `decorum enqueue FILE|-`: adds candidates to a running fleet and returns. */
import { type Candidate, openFrontier } from '@decorum/client'
import { defined } from '@decorum/runtime/defined'
import { agreedSettings } from '../agreed-settings.ts'
import { CommandError, messageOf } from '../exit.ts'
import { emptyList, type Line, linesOf, openInput } from '../lines.ts'
import { runningRedis } from '../running-redis.ts'
import { printResult, warn } from '../terminal.ts'
import { agentNamed } from '../typed.ts'
import { UnusableLines } from '../unusable-lines.ts'

/**
 * Longest line: a URL, an id and meta of the largest size, with every character as a JSON escape (six characters), which many languages
 * write for non-ASCII text.
 */
const MAX_LINE_CHARS = 128 * 1024

export type EnqueueOptions = {
  crawl: string
  agent?: string
  priority?: 'high' | 'normal'
  json?: boolean
}

export async function enqueue(file: string, options: EnqueueOptions): Promise<void> {
  const { agent, priority, crawl } = options
  agentNamed((await agreedSettings()).agents, agent)
  const input = await openInput(file)
  const frontier = await openFrontier({ redis: await runningRedis(), crawl })
  const unusable = new UnusableLines()
  let count = 0
  async function* candidates(): AsyncGenerator<Candidate> {
    for await (const line of linesOf(input, MAX_LINE_CHARS)) {
      count++
      yield { ...candidateOf(line, unusable), ...defined({ agent, priority }) }
    }
  }
  try {
    await frontier.enqueue(candidates())
  } catch (error) {
    // Sending the file again stores its URLs again, unless its lines contain ids.
    throw new CommandError(`stopped at about line ${count} of ${file}: ${messageOf(error)}`)
  } finally {
    await frontier.close()
  }
  if (count === 0) throw emptyList(file)
  const hint = unusable.sentence()
  if (hint !== undefined) warn(hint)
  printResult(options.json, { enqueued: count }, `${count} enqueued`)
}

/** A line is a URL, or a candidate as JSON. Any other line is still sent, and ends as `invalid` with its line number. */
function candidateOf(line: Line, unusable: UnusableLines): Candidate {
  const { number, text } = line
  const json = text.startsWith('{') ? parse(text) : undefined
  if (json !== undefined) return json as Candidate
  return unusable.check(line) ? { url: text } : { url: text, meta: { line: number } }
}

function parse(text: string): object | undefined {
  try {
    return JSON.parse(text) as object
  } catch {
    return undefined
  }
}
