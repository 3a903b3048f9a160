/** Retry-After, as a site asked for it with 429 or 503 on a page: until then nobody of that party comes, for anything. */
import { parseRetryAfter } from '@decorum/robots'
import type { Blame } from './judge-robots.ts'
import type { Visit } from './robots-fetches.ts'

/**
 * @param visits   of one party at one origin, by start
 * @param graceMs  what other lanes of the party may need to hear of it; its own lane needs none
 */
export function judgeBackOff(visits: Visit[], graceMs: number, blame: Blame): void {
  const windows = visits.flatMap(({ line, visitor }) => {
    if ((line.status !== 429 && line.status !== 503) || line.path === '/robots.txt') return []
    const ms = parseRetryAfter(line.retryAfter, line.end)
    return ms === undefined ? [] : [{ from: line.end, until: line.end + ms, visitor, ms }]
  })
  if (windows.length === 0) return
  windows.sort((a, b) => a.from - b.from)
  /** lane by lane the latest window heard of by its own requests, and one for all that have come to everybody's ears */
  const own = new Map<string, number>()
  let everybodys = Number.NEGATIVE_INFINITY
  let heardByOwn = 0
  let heardByAll = 0
  for (const visit of visits) {
    const { start } = visit.line
    for (let w = windows[heardByOwn]; w && w.from <= start; w = windows[++heardByOwn]) {
      own.set(w.visitor.name, Math.max(own.get(w.visitor.name) ?? 0, w.until))
    }
    for (let w = windows[heardByAll]; w && w.from + graceMs <= start; w = windows[++heardByAll])
      everybodys = Math.max(everybodys, w.until)
    const until = Math.max(own.get(visit.visitor.name) ?? Number.NEGATIVE_INFINITY, everybodys)
    if (start < until)
      blame(
        visit,
        'in-back-off',
        `the site had asked for silence for another ${((until - start) / 1_000).toFixed(3)} s`,
      )
  }
}
