/** The page at `/fleet`: the running processes, their machines, and their versions of software and configuration. Pure. */
import { type About, type Member, passingText } from '@decorum/ledger'
import { count, some } from '../words.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'
import { table } from './table.ts'

export type FleetPageFacts = { members: Member[]; version: number; frame: Frame }

export function fleetPage(facts: FleetPageFacts): string {
  const body = html`<main><h1>Fleet</h1><div data-follow="/fleet/facts">${fleetFacts(facts)}</div></main>`
  return layout({ title: 'Fleet · Decorum', body, frame: facts.frame, place: '/fleet' })
}

const PLURALS: Record<string, string> = { permits: 'permits', proxy: 'proxies' }

const buildOf = ({ version, commit = 'unknown' }: About): string => `${version} (commit ${commit})`

export function fleetFacts({ members, version }: Omit<FleetPageFacts, 'frame'>): Html {
  const roles = Map.groupBy(members, ({ role }) => role)
  const sums = [...roles].map(([role, list]) => some(list.length, role, PLURALS[role] ?? `${role}s`))
  const versions = new Set(members.flatMap(({ about }) => (about === undefined ? [] : [buildOf(about)])))
  const mixed = versions.size > 1 ? ` Builds run side by side: ${[...versions].join(', ')}.` : ''
  const behind = members.filter(({ about }) => about !== undefined && about.config !== version).length
  const late = behind === 0 ? '' : ` ${some(behind, 'process', 'processes')} not at that version yet.`
  const rows = members.map(({ role, id, slots, about }) => [
    role,
    about === undefined ? '–' : about.host,
    html`<code>${about?.pid ?? id}</code>`,
    about === undefined ? '–' : buildOf(about),
    about === undefined ? '–' : `${about.config}${about.config === version ? '' : ' (behind)'}`,
    slots > 0 ? count(slots) : '–',
    [
      ...(about?.keepsPages === undefined ? [] : [about.keepsPages ? 'keeps pages' : 'keeps no pages']),
      ...((about?.pending.length ?? 0) > 0 ? [`waits for a start: ${about?.pending.join(', ')}`] : []),
      ...(about?.passing ?? []).map(passingText),
    ].join('; ') || '–',
  ])
  const columns = [
    ['Role', 'name'],
    ['Host', 'long'],
    'Process',
    'Decorum',
    'Configuration',
    ['Slots', 'number'],
    ['Notes', 'long'],
  ] as const
  return html`<p role="status">${sums.length === 0 ? 'No process has announced itself within the last 5 s.' : `${sums.join(', ')}.`} The configuration is version ${version}.${late}${mixed}</p>
${
  rows.length > 0 &&
  table(
    'Processes',
    columns,
    rows,
    members.map(({ id }) => id),
  )
}`
}
