/** The page at `/configuration`: the fleet's agreed settings, and who changed them. Pure; secrets are not included. */
import { differenceLine, differences, FLEET_SETTINGS, SETTINGS, shown } from '@decorum/config'
import type { Version } from '@decorum/config/fleet-config'
import { day, some } from '../words.ts'
import { html, withCode } from './html.ts'
import type { Page } from './layout.ts'
import { section } from './parts.ts'
import { table } from './table.ts'

/** @param history  newest first */
export function configurationPage(current: Version | undefined, history: Version[]): Page {
  const settings = FLEET_SETTINGS.filter((name) => current?.values[name] !== undefined).map((name) => [
    html`<code>${name.split('_').map((part, n) => html`${n > 0 && html`_<wbr>`}${part}`)}</code>`,
    html`<code>${shown(current?.values[name] ?? null)}</code>`,
    withCode(SETTINGS[name].means),
  ])
  const versions = history.map(({ version, at, by, reason, via, values }, n) => {
    const before = history[n + 1]?.values
    const lines = before === undefined ? [] : differences(before, values).map(differenceLine)
    const changed = before === undefined ? 'the oldest that is kept' : lines.length === 0 && 'nothing'
    return [
      version,
      day(at),
      by,
      reason || undefined,
      via,
      changed || html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>`)}</ul>`,
    ]
  })
  const body = html`<h1>Configuration</h1>
<p>${current === undefined ? 'No process has written one yet.' : html`Version ${current.version}, since ${day(current.at)}. It is changed by <code>decorum config apply FILE</code>; the policy of a site also on the page of its origins.`}</p>
${current && table('Settings of the fleet', { Setting: 'name', Value: 'long', Meaning: 'long' }, settings)}
${section(
  'History',
  `${some(history.length, 'version')}, newest first`,
  table(
    'Versions',
    { Version: 'name', When: '', By: 'long', Reason: 'long', How: '', 'What changed': 'long' },
    versions,
    { shown: 5 },
  ),
)}`
  return { title: 'Configuration', body, place: '/configuration' }
}
