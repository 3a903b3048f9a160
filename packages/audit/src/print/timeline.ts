/** One lane over time, as SVG: a bar per exchange, or counts when there are many. Violations are taller and red. */
import type { LaneTimeline } from '../report.ts'
import { escaped } from './printable.ts'
import { count, instant, short } from './words.ts'

const WIDTH = 1_000
const HEIGHT = 44
const LEAST = 1.5

export const legend = (): string =>
  `<p class="legend">${[
    ['page', 'page'],
    ['robots', 'robots.txt'],
    ['found', 'violation'],
  ]
    .map(
      ([kind, name]) =>
        `<span><svg viewBox="0 0 12 12" aria-hidden="true"><rect class="${kind}" width="12" height="12"/></svg> ${name}</span>`,
    )
    .join('')}</p>`

export function drawLane(lane: LaneTimeline): string {
  const { agent, origin, from, to } = lane
  const bars = lane.buckets.length > 0 ? drawBuckets(lane) : drawExchanges(lane)
  const requests = lane.exchanges.length + lane.buckets.reduce((sum, bucket) => sum + bucket.requests, 0)
  const name = `${short(origin, 80)} · ${short(agent, 80)}`
  return `<figure><figcaption>${escaped(name)} · ${count(requests, 'request')}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${escaped(`requests of ${name} over time`)}">${bars}</svg>
<div class="ends"><span>${instant(from)}</span><span>${instant(to)}</span></div></figure>`
}

function drawExchanges({ from, to, exchanges }: LaneTimeline): string {
  const at = (instantMs: number): number => ((instantMs - from) / Math.max(to - from, 1)) * WIDTH
  return exchanges
    .map(({ start, end, path, status, offences }) => {
      const left = Math.min(at(start), WIDTH - LEAST)
      const width = Math.max(at(end) - at(start), LEAST)
      const kind = offences.length > 0 ? 'found' : path === '/robots.txt' ? 'robots' : 'page'
      const top = offences.length > 0 ? 4 : 14
      const title = `${instant(start)} ${short(path, 120)} ${status}${offences.length > 0 ? ` ${offences.join(', ')}` : ''}`
      return `<rect class="${kind}" x="${left.toFixed(2)}" y="${top}" width="${width.toFixed(2)}" height="${HEIGHT - 4 - top}"><title>${escaped(title)}</title></rect>`
    })
    .join('')
}

function drawBuckets({ from, to, buckets }: LaneTimeline): string {
  const most = Math.max(...buckets.map(({ requests }) => requests), 1)
  const width = WIDTH / buckets.length
  return buckets
    .map(({ requests, violations }, index) => {
      if (requests === 0) return ''
      const x = (index * width).toFixed(2)
      const height = (requests / most) * (HEIGHT - 6)
      const red = (violations / most) * (HEIGHT - 6)
      const title = `${instant(from + ((to - from) * index) / buckets.length)}: ${count(requests, 'request')}, ${violations} with a violation`
      const bar = (kind: string, tall: number): string =>
        tall === 0
          ? ''
          : `<rect class="${kind}" x="${x}" y="${(HEIGHT - 2 - tall).toFixed(2)}" width="${(width * 0.85).toFixed(2)}" height="${tall.toFixed(2)}"><title>${escaped(title)}</title></rect>`
      return bar('page', height) + bar('found', red)
    })
    .join('')
}
