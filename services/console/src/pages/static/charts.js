// Charts of the last hours: uPlot draws what /v1/history answers, in the colours of the page, and again when these change.
const root = document.querySelector('[data-charts]')
const KINDS = ['fetched', 'redirected', 'disallowed', 'failed', 'expired', 'invalid', 'refused']
const CHARTS = {
  outcomes: (h) => KINDS.map((kind) => [kind, kind, h.outcomes[kind]]),
  backlog: (h) => [['URLs', 'moving', h.waiting]],
  flight: (h) => [
    ['leases out', 'moving', h.inFlight],
    ['lanes due', 'polite', h.due],
  ],
  lag: (h) => [['seconds', 'trouble', h.lagMs.map((ms) => (ms === null ? null : ms / 1000))]],
  queues: (h) => [['jobs', 'warn', h.jobs]],
  unread: (h) => [['outcomes', 'moving', h.unread]],
}
let drawn = []
let latest

// The colours stand in the style sheet: by name, or as the colour of a class.
function colourOf(name) {
  const probe = document.createElement('i')
  probe.className = `probe ${name}`
  root.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const clock = (at) => new Date(at * 1000).toISOString().slice(11, 16)

function draw() {
  if (latest === undefined) return
  for (const one of drawn) one.destroy()
  const [ink, line] = [colourOf('soft'), colourOf('line')]
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } }
  drawn = [...root.querySelectorAll('[data-chart]')].map((place) => {
    const lines = CHARTS[place.dataset.chart](latest)
    const series = lines.map(([label, colour]) => ({ label, stroke: colourOf(colour), width: 1.5, spanGaps: false }))
    const options = {
      width: Math.max(200, place.clientWidth),
      height: 190,
      legend: { show: lines.length > 1, live: false },
      cursor: { points: { show: false } },
      series: [{}, ...series],
      axes: [
        { ...axis, values: (_, splits) => splits.map(clock) },
        { ...axis, size: 56 },
      ],
      scales: { y: { range: (_, least, most) => [Math.min(0, least ?? 0), Math.max(1, most ?? 1)] } },
    }
    return new uPlot(options, [latest.at, ...lines.map(([, , column]) => column)], place)
  })
}

async function load() {
  try {
    const answer = await fetch(root.dataset.charts, { signal: AbortSignal.timeout(5000) })
    if (answer.ok) latest = await answer.json()
    draw()
  } catch {
    // the next look comes in half a minute
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
