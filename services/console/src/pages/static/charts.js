// Charts of the last hours: uPlot draws the data of /v1/history in the page's colours, and redraws when the colours change.
const root = document.querySelector('[data-charts]')
const KINDS = ['fetched', 'redirected', 'disallowed', 'failed', 'expired', 'invalid', 'refused']
const CLASSES = [
  ['2xx', '2', 'polite'],
  ['3xx', '3', 'moving'],
  ['4xx', '4', 'warn'],
  ['5xx', '5', 'trouble'],
]
const inSeconds = (column) => column.map((ms) => (ms === null ? null : ms / 1000))
const CHARTS = {
  outcomes: (h) => KINDS.map((kind) => [kind, kind, h.outcomes[kind]]),
  statuses: (h) =>
    CLASSES.map(([label, first, colour]) => {
      const columns = Object.keys(h.statuses).filter((code) => code[0] === first)
      const sum = (n) => columns.reduce((all, code) => all + (h.statuses[code][n] ?? 0), 0)
      return [label, colour, h.at.map((_, n) => (h.outcomes.fetched[n] === null ? null : sum(n)))]
    }),
  took: (h) => [
    ['median, s', 'moving', inSeconds(h.tookMs.half)],
    ['95th percentile, s', 'warn', inSeconds(h.tookMs.most)],
  ],
  backlog: (h) => [['URLs', 'moving', h.waiting]],
  flight: (h) => [
    ['leases out', 'moving', h.inFlight],
    ['lanes due', 'polite', h.due],
  ],
  lag: (h) => [['seconds', 'trouble', inSeconds(h.lagMs)]],
  queues: (h) => [['jobs', 'warn', h.jobs]],
  unread: (h) => [['outcomes', 'moving', h.unread]],
}
let drawn = []
let latest

// Resolves a colour variable of the style sheet, because a canvas does not.
function colourOf(name) {
  const probe = document.createElement('i')
  probe.style.color = `var(--${name})`
  root.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const shown = (_, n) => (n === null || n === undefined ? '–' : String(Math.round(n * 100) / 100))
const clock = (at) => new Date(at * 1000).toISOString().slice(11, 16)

const dataOf = (name) => [latest.at, ...CHARTS[name](latest).map(([, , column]) => column)]

function draw() {
  if (latest === undefined) return
  for (const one of drawn) one.destroy()
  const [ink, line] = [colourOf('soft'), colourOf('line')]
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } }
  drawn = [...root.querySelectorAll('[data-chart]')].map((place) => {
    const lines = CHARTS[place.dataset.chart](latest)
    const series = lines.map(([label, colour]) => ({
      label,
      stroke: colourOf(colour),
      width: 1.5,
      spanGaps: false,
      value: shown,
    }))
    const options = {
      width: Math.max(200, place.clientWidth),
      height: 190,
      legend: { show: true, live: true },
      cursor: { points: { size: 6 }, sync: { key: 'hours' } },
      series: [{ label: 'at', value: (_, at) => (at === null ? '–' : clock(at)) }, ...series],
      axes: [
        { ...axis, values: (_, splits) => splits.map(clock) },
        { ...axis, size: 56 },
      ],
      scales: { y: { range: (_, _least, most) => [0, most > 0 ? most * 1.05 : 1] } },
    }
    return new uPlot(options, dataOf(place.dataset.chart), place)
  })
}

/** Puts new values into the charts that are drawn; an enlarged part stays enlarged. */
function update() {
  for (const chart of drawn) {
    const { min, max } = chart.scales.x
    const isWhole = min <= chart.data[0][0] && max >= chart.data[0].at(-1)
    chart.setData(dataOf(chart.root.parentElement.dataset.chart), isWhole)
    if (!isWhole) chart.redraw()
  }
}

async function load() {
  try {
    const answer = await fetch(root.dataset.charts, { signal: AbortSignal.timeout(5000) })
    if (answer.ok) latest = await answer.json()
    if (drawn.length === 0) draw()
    else update()
  } catch {
    // the next update is due in half a minute
  }
}

if (root) {
  void load()
  setInterval(() => document.hidden || void load(), 30_000)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw)
  let width = innerWidth
  addEventListener('resize', () => {
    if (innerWidth === width) return
    width = innerWidth
    draw()
  })
}
