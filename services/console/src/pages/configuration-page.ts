/** The page at `/configuration`: the fleet's agreed settings, and who changed them. Pure; secrets are not included. */
import { differenceLine, differences, FLEET_SETTINGS, SETTINGS, shown } from '@decorum/config'
import type { Version } from '@decorum/config/fleet-config'
import { day } from '../words.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'
import { table } from './table.ts'

export type ConfigurationPageFacts = {
  current: Version | undefined
  /** newest first */
  history: Version[]
  frame: Frame
}

export function configurationPage({ current, history, frame }: ConfigurationPageFacts): string {
  const body = html`<main><h1>Configuration</h1>
<p>${current === undefined ? 'No process has written one yet.' : `Version ${current.version}, since ${day(current.at)}. It is changed by`} ${current !== undefined && html`<code>decorum config apply FILE</code>.`}</p>
${current !== undefined && settings(current)}
${changes(history)}</main>`
  return layout({ title: 'Configuration · Decorum', body, frame, place: '/configuration' })
}

function settings({ values }: Version): Html {
  const rows = FLEET_SETTINGS.filter((name) => values[name] !== undefined).map((name) => [
    html`<code>${name.split('_').map((part, n) => html`${n > 0 && html`_<wbr>`}${part}`)}</code>`,
    html`<code>${shown(values[name] ?? null)}</code>`,
    SETTINGS[name].means,
  ])
  return table(
    'Settings of the fleet',
    [
      ['Setting', 'name'],
      ['Value', 'long'],
      ['Meaning', 'long'],
    ],
    rows,
  )
}

function changes(history: Version[]): Html {
  const rows = history.map((version, n) => {
    const before = history[n + 1]
    const lines = before === undefined ? [] : differences(before.values, version.values).map(differenceLine)
    return [
      String(version.version),
      day(version.at),
      version.by,
      version.reason === '' ? '–' : version.reason,
      version.via,
      lines.length === 0
        ? before === undefined
          ? 'the oldest that is kept'
          : 'nothing'
        : html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>`)}</ul>`,
    ]
  })
  const columns = [
    ['Version', 'name'],
    'When',
    ['By', 'long'],
    ['Reason', 'long'],
    'How',
    ['What changed', 'long'],
  ] as const
  return html`<section><h2>History<small>the last ${history.length}</small></h2>${table('Versions', columns, rows)}</section>`
}
