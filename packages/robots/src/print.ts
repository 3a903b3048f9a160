/** A file as the parser understood it, in plain records: reading it again gives the same rules. */
import {
  type Delay,
  nameOf,
  type ReadRecord,
  type RobotsFile,
  recordOf,
  ruleOf,
  sitemapsOf,
  textIn,
} from './robots-file.ts'

export function printFile(file: RobotsFile): string {
  const head = sitemapsOf(file).map((url) => `Sitemap: ${url}`)
  for (const record of file.records) if (record.block < 0) head.push(printRecord(file, record))
  const parts = head.length > 0 ? [`${head.join('\n')}\n`] : []
  for (let block = 0; block < file.blocks; block++) parts.push(printBlock(file, block))
  return parts.join('\n')
}

function printBlock(file: RobotsFile, block: number): string {
  const lines: string[] = []
  let delay = file.delays.findIndex(({ upTo }) => upTo > (file.marks[file.startsAt + 2 * block] as number))
  const [from, firstRule, upTo, rules] = file.marks.subarray(file.startsAt + 2 * block) as unknown as number[]
  for (let n = from as number; n < (upTo as number); n++) {
    lines.push(`User-agent: ${nameOf(file, n)}`)
    // Delays are in the order of the names that they close.
    for (; file.delays[delay]?.upTo === n + 1; delay++) {
      const { at, end } = file.delays[delay] as Delay
      lines.push(`Crawl-delay: ${textIn(file, at, end)}`)
    }
  }
  for (const record of file.records) if (record.block === block) lines.push(printRecord(file, record))
  for (let rule = firstRule as number; rule < (rules as number); rule++) {
    const { type, pattern } = ruleOf(file, rule)
    lines.push(`${type === 'allow' ? 'Allow' : 'Disallow'}:${pattern === '' ? '' : ` ${pattern}`}`)
  }
  // Without a rule the next user-agent line would join this group.
  if (firstRule === rules) lines.push('Disallow:')
  return `${lines.join('\n')}\n`
}

function printRecord(file: RobotsFile, record: ReadRecord): string {
  const { field, value } = recordOf(file, record)
  return `${field}: ${value}`
}
