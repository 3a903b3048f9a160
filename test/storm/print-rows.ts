/** What every storm prints at its end: its figures, what its processes said, and the promises that were broken. */

export type Rows = [what: string, figure: string][]

/**
 * @param troubles  what the processes said → how often
 * @param late      lines before the verdict
 */
export function printRows(
  rows: Rows,
  { troubles, broken, late = [] }: { troubles: ReadonlyMap<string, number>; broken: string[]; late?: string[] },
): string {
  const width = Math.max(...rows.map(([what]) => what.length))
  const lines = rows.map(([what, figure]) => `${what.padEnd(width)}  ${figure}`)
  if (troubles.size > 0) {
    lines.push('', 'what the processes said:')
    for (const [what, times] of [...troubles].toSorted((a, b) => b[1] - a[1]).slice(0, 12))
      lines.push(`  ${times}× ${what}`)
  }
  for (const line of late) lines.push(`late: ${line}`)
  lines.push('', broken.length === 0 ? '✓ every promise kept' : `✗ ${broken.length} broken:`)
  for (const line of broken.slice(0, 40)) lines.push(`  ${line}`)
  return `${lines.join('\n')}\n`
}
