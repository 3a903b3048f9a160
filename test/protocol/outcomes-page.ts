/**
 * docs/outcomes.md, printed from the closed lists of @decorum/protocol.
 *
 *   node test/protocol/outcomes-page.ts --write      writes the page; without --write it is printed
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Explained, FAILURES, HOLDING_GATES, INVALIDS, KINDS, REFUSALS } from '@decorum/protocol'

export const OUTCOMES_PAGE = join(import.meta.dirname, '../../docs/outcomes.md')

const HEAD = `# Outcomes

Every accepted candidate has exactly one outcome ([its fields](spec/design.md)). This page has each kind and each reason, what
it means and what to do about it. It is printed from \`packages/protocol/src/reasons.ts\`:
\`node test/protocol/outcomes-page.ts --write\`.
`

function table(title: string, first: string, entries: Readonly<Record<string, Explained>>): string {
  const rows = Object.entries(entries).map(([name, { means, todo }]) => `| \`${name}\` | ${means} | ${todo} |`)
  return [`## ${title}\n`, `| ${first} | what it means | what to do |`, '|---|---|---|', ...rows, ''].join('\n')
}

export const outcomesPage = (): string =>
  [
    HEAD,
    table('Kinds', 'kind', KINDS),
    table('failed', 'reason', FAILURES),
    table('expired', 'reason', HOLDING_GATES),
    table('invalid', 'reason', INVALIDS),
    table('refused', 'reason', REFUSALS),
  ].join('\n')

if (import.meta.main) {
  if (process.argv.includes('--write')) writeFileSync(OUTCOMES_PAGE, outcomesPage())
  else process.stdout.write(outcomesPage())
}
