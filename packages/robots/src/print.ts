/** Prints a file as the parser understood it, in plain records: parsing the result gives the same rules. */
import { delaySeconds } from './fields.ts'
import {
  AGENT,
  ALLOW,
  blocksOf,
  DELAY,
  entriesOf,
  kindOf,
  OTHER,
  type RobotsFile,
  recordOf,
  ruleOf,
  sitemapsOf,
  textOfEntry,
} from './robots-file.ts'

export function printFile(file: RobotsFile): string {
  const blocks = blocksOf(file)
  const head = sitemapsOf(file).map((url) => `Sitemap: ${url}`)
  head.push(...printRecords(file, 0, blocks[0]?.[0] ?? entriesOf(file)))
  const parts = blocks.map(([first, end]) => printBlock(file, first, end))
  return [...(head.length > 0 ? [head] : []), ...parts].map((lines) => `${lines.join('\n')}\n`).join('\n')
}

function printBlock(file: RobotsFile, first: number, end: number): string[] {
  const agents: string[] = []
  const rules: string[] = []
  let delay = ''
  const endDelay = (): void => {
    if (delay !== '') agents.push(`Crawl-delay: ${delay}`)
    delay = ''
  }
  for (let entry = first; entry < end; entry++) {
    const kind = kindOf(file, entry)
    const text = textOfEntry(file, entry)
    if (kind === AGENT) {
      endDelay()
      agents.push(`User-agent: ${text}`)
    } else if (kind === DELAY) {
      // With several delays for the same names the largest counts (slower, never ruder).
      if (delay === '' || delaySeconds(text) > delaySeconds(delay)) delay = text
    } else if (kind <= ALLOW) {
      const { type, pattern } = ruleOf(file, entry)
      rules.push(`${type === 'allow' ? 'Allow' : 'Disallow'}:${pattern === '' ? '' : ` ${pattern}`}`)
    }
  }
  endDelay()
  // Without a rule the next user-agent line would join this group.
  return [...agents, ...printRecords(file, first, end), ...(rules.length === 0 ? ['Disallow:'] : rules)]
}

function printRecords(file: RobotsFile, from: number, end: number): string[] {
  const lines: string[] = []
  for (let entry = from; entry < end; entry++)
    if (kindOf(file, entry) === OTHER) {
      const { field, value } = recordOf(file, entry, [])
      lines.push(`${field}: ${value}`)
    }
  return lines
}
