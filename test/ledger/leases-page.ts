/**
 * docs/leases.md, printed from the table of a lease's life.
 *
 *   node test/ledger/leases-page.ts --write      writes the page; without --write it is printed
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LEASE_EVENTS, LEASE_KINDS, LEASE_STATES, type LeaseEvent } from '@decorum/ledger/testing'

export const LEASES_PAGE = join(import.meta.dirname, '../../docs/leases.md')

const HEAD = `# The life of a lease

A lease is the right to one exchange in a lane; every lease and every reservation has an end, after which it ends by itself.
This page is printed from \`packages/ledger/src/lease-life.ts\` (\`node test/ledger/leases-page.ts --write\`). The scripts of the ledger are
made from that table; the model and the tests read it too. Where an event names its lease by the fence, any other fence, state or kind is
answered \`stale\`, and nothing changes. What keeps a request from being sent stands in [gates.md](gates.md).
`

const fromText = ({ none, reserved, started = [] }: LeaseEvent['from']): string =>
  [
    ...(none ? ['none'] : []),
    ...(reserved ? ['reserved'] : []),
    ...(started.length === 0
      ? []
      : [started.length === LEASE_KINDS.length ? 'started' : `started (${started.join(', ')})`]),
  ].join(', ')

export function leasesPage(): string {
  const states = Object.entries(LEASE_STATES).map(([name, means]) => `| ${name} | ${means} |`)
  const events = Object.entries(LEASE_EVENTS).map(([name, { means, by, from, to, lane, isHeld, whileItLasts }]) => {
    const named = isHeld ? (whileItLasts ? 'yes, until its end' : 'yes') : 'no'
    return `| \`${name}\` | ${means} | ${by} | ${fromText(from)} | ${to} | ${lane} | ${named} |`
  })
  const columns = [
    'event',
    'it befalls a lease when',
    'script',
    'from',
    'to',
    'what becomes of the lane, or changes',
    'named by its fence',
  ]
  return [
    HEAD,
    '| state | |',
    '|---|---|',
    ...states,
    '',
    `| ${columns.join(' | ')} |`,
    `|${columns.map(() => '---|').join('')}`,
    ...events,
    '',
  ].join('\n')
}

if (import.meta.main) {
  if (process.argv.includes('--write')) writeFileSync(LEASES_PAGE, leasesPage())
  else process.stdout.write(leasesPage())
}
