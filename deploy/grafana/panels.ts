/** What a dashboard is made of, as far as ours needs it: rows of panels, each with queries of Prometheus. */

/** `s`, `ops` and the others are names of Grafana. */
export type Unit = 'short' | 's' | 'ops' | 'Bps' | 'bytes' | 'percentunit'
export type Query = { expr: string; legend: string }
export type Panel = { title: string; help: string; unit: Unit; queries: Query[]; kind?: 'timeseries' | 'stat' }
export type Row = { title: string; panels: Panel[] }

const COLUMNS = 24
const HEIGHT = 8
const SOURCE = { type: 'prometheus', uid: '$datasource' }

/** @returns  a dashboard that Grafana 10 and later import; the same rows give the same text */
export function dashboard(title: string, uid: string, rows: readonly Row[]): object {
  const panels: object[] = []
  let y = 0
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    })
    const width = COLUMNS / row.panels.length
    for (const [at, panel] of row.panels.entries())
      panels.push(panelOf(panel, panels.length + 1, { x: at * width, y: y + 1, w: width, h: HEIGHT }))
    y += 1 + HEIGHT
  }
  return {
    uid,
    title,
    schemaVersion: 39,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Prometheus' }] },
    panels,
  }
}

function panelOf({ title, help, unit, queries, kind = 'timeseries' }: Panel, id: number, gridPos: object): object {
  const targets = queries.map(({ expr, legend }, at) => ({
    refId: String.fromCharCode(65 + at),
    expr,
    legendFormat: legend,
    datasource: SOURCE,
  }))
  return {
    id,
    type: kind,
    title,
    description: help,
    gridPos,
    datasource: SOURCE,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets,
  }
}
