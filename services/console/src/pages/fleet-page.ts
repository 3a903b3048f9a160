/** The page at `/fleet`: the running processes, their machines, and their versions of software and configuration. Pure. */
import { type Member, passingText } from '@decorum/ledger'
import { count, some } from '../words.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'
import { table } from './table.ts'

const PLURALS: Record<string, string> = { permits: 'permits', proxy: 'proxies' }

export function rolesSentence(members: Member[]): string {
  if (members.length === 0) return 'No process has announced itself within the last 5 s.'
  const roles = Map.groupBy(members.map(({ role }) => role).toSorted(), (role) => role)
  return `${[...roles].map(([role, { length }]) => some(length, role, PLURALS[role])).join(', ')}.`
}

/** @param version  version of the configuration in force */
export function fleetPage(members: Member[], version: number): Page {
  const builds = new Set<string>()
  let behind = 0
  const rows = members.map(({ role, id, slots, about }) => {
    const slotsText = slots > 0 ? count(slots) : undefined
    if (about === undefined) return [role, undefined, html`<code>${id}</code>`, undefined, undefined, slotsText]
    const build = `${about.version} (commit ${about.commit ?? 'unknown'})`
    const isBehind = about.config !== version
    builds.add(build)
    if (isBehind) behind += 1
    const notes = [
      about.keepsPages === undefined ? '' : about.keepsPages ? 'keeps pages' : 'keeps no pages',
      about.pending.length > 0 ? `waits for a start: ${about.pending.join(', ')}` : '',
      ...(about.passing ?? []).map(passingText),
    ]
    return [
      role,
      about.host,
      html`<code>${about.pid}</code>`,
      build,
      `${about.config}${isBehind ? ' (behind)' : ''}`,
      slotsText,
      notes.filter((note) => note !== '').join('; ') || undefined,
    ]
  })
  const body = html`<h1>Fleet</h1>
<p role="status">${rolesSentence(members)} The configuration is version ${version}.${
    behind > 0 && ` ${some(behind, 'process is', 'processes are')} not at that version yet.`
  }${builds.size > 1 && ` Builds run side by side: ${[...builds].join(', ')}.`}</p>
${
  rows.length > 0 &&
  table(
    'Processes',
    { Role: 'name', Host: 'long', Process: '', Decorum: '', Configuration: '', Slots: 'number', Notes: 'long' },
    rows,
    { names: members.map(({ id }) => id) },
  )
}`
  return { title: 'Fleet', body, place: '/fleet', follow: '/fleet' }
}
