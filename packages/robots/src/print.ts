/** A file as the parser understood it, in plain records: reading it again gives the same rules. */
import { textOf } from './octets.ts'
import type { Block, RobotsFile } from './robots-file.ts'

export function printFile(file: RobotsFile): string {
  const groups = file.blocks.map((block) => printBlock(file, block))
  const reported = file.records.filter((record) => record.agents.length === 0)
  const rest = [
    ...file.sitemaps.map((url) => `Sitemap: ${url}`),
    ...reported.map((record) => `${record.field}: ${record.value}`),
  ]
  return [...(reported.length + file.sitemaps.length > 0 ? [`${rest.join('\n')}\n`] : []), ...groups].join('\n')
}

function printBlock(file: RobotsFile, block: Block): string {
  const lines: string[] = []
  const delays = block.delays ?? []
  block.names.forEach((name, i) => {
    lines.push(`User-agent: ${name}`)
    for (const delay of delays) if (delay.upTo === i + 1) lines.push(`Crawl-delay: ${delay.written}`)
  })
  for (const record of file.records) if (record.agents === block.names) lines.push(`${record.field}: ${record.value}`)
  for (let rule = block.from; rule < block.to; rule++) {
    const type = ((file.marks[2 * rule + 1] as number) & 1) === 1 ? 'Allow' : 'Disallow'
    lines.push(`${type}: ${textOf(file.octets, file.marks[2 * rule] as number, file.marks[2 * rule + 2] as number)}`)
  }
  // Without a rule the next user-agent line would join this group.
  if (block.from === block.to) lines.push('Disallow:')
  return `${lines.join('\n')}\n`
}
