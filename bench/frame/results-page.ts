/** `bench/results.md`: a section per bench, each replaced alone, so that one bench can be run again by itself. */

const HEAD = `# Bench results

Written by \`npm run bench\`. Both sides of a ratio ran in one run on one machine; wall rates move with its load, so
quote ratios and CPU per item. Figures are medians, the spread over rounds stands beside them.
`

export type Result = { key: string; name: string; when: string; conditions: string; lines: string[] }

/** @param page  the page so far; '' for a new one. Sections are in the order of their keys. */
export function withResult(page: string, result: Result): string {
  const sections = new Map(sectionsOf(page))
  sections.set(
    result.key,
    [`## ${result.name}`, '', `*${result.when}. ${result.conditions}.*`, '', ...result.lines].join('\n'),
  )
  const keys = [...sections.keys()].sort()
  return `${HEAD}\n${keys.map((key) => `<!-- bench: ${key} -->\n\n${sections.get(key)?.trim()}\n`).join('\n')}`
}

function sectionsOf(page: string): [key: string, text: string][] {
  return page
    .split(/^<!-- bench: /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf(' -->')
      return [part.slice(0, end), part.slice(end + 4).trim()]
    })
}
