/** The line of due lanes, in which crawls take turns while more are due than may be reserved. */
import { isCrawlHeld, type Lane, type Model, ms, turnLength, turnsOf, waitingIn } from './state.ts'

const FIRST_TURN = -1e11

export const dueLanes = (m: Model): [string, Lane][] =>
  [...m.lanes]
    .filter(([, { due }]) => due !== undefined)
    .sort(([a, { due: x }], [b, { due: y }]) => x! - y! || (a < b ? -1 : 1))

/**
 * Where more lanes are due than `limit`: those whose turns come next, of the due ones and of those that are due soon.
 * @returns undefined where no more are due
 */
export function nextInLine(m: Model, limit: number, now: number, aheadMs: number): [string, Lane][] | undefined {
  const due = dueLanes(m).filter(([, lane]) => lane.due! <= now)
  if (due.length <= limit) return undefined
  const newcomers = due.filter(([, lane]) => lane.due! >= 0)
  const isNew = due.length === newcomers.length
  const next = isNew ? FIRST_TURN : due[0]![1].due!
  if (isNew) m.line = new Map()
  let ends = new Map<string, number>()
  let taken = new Set<string>()
  const endOf = (crawl: string): number => {
    const end = ends.get(crawl) ?? Math.max(next, m.line.get(crawl) ?? FIRST_TURN)
    ends.set(crawl, end)
    return end
  }
  const crawlIn = (lane: Lane): string => {
    const crawls = turnsOf(lane).map(([crawl]) => crawl)
    const goOn = crawls.filter((crawl) => !isCrawlHeld(m, crawl))
    const some = goOn.length > 0 ? goOn : crawls
    return some.length === 0 ? 'default' : some.reduce((one, other) => (endOf(other) < endOf(one) ? other : one))
  }
  const takeTurn = (crawl: string): number => {
    const turn = endOf(crawl)
    ends.set(crawl, turn + (isCrawlHeld(m, crawl) ? 1 : turnLength(m, crawl)))
    taken.add(crawl)
    return turn
  }
  const crawls = newcomers.map(([, lane]) => (waitingIn(lane) === 0 ? undefined : crawlIn(lane)))
  for (const [at, [, lane]] of newcomers.entries()) {
    const crawl = crawls[at]
    const turn = crawl === undefined ? next : takeTurn(crawl)
    lane.due = ms(turn)
  }
  const soon = aheadMs === 0 ? [] : dueLanes(m).filter(([, lane]) => lane.due! > now && lane.due! <= ms(now + aheadMs))
  const waiting = soon.slice(0, 2 * limit).filter(([, lane]) => waitingIn(lane) > 0)
  const before = { ends: new Map(ends), taken: new Set(taken) }
  const ofSoon = new Map(waiting.map(([name, lane]) => [name, crawlIn(lane)]))
  const all = [
    ...dueLanes(m)
      .slice(0, limit)
      .map((one) => ({ one, turn: one[1].due! })),
    ...waiting.map((one) => ({ one, turn: takeTurn(ofSoon.get(one[0])!) })),
  ]
  all.sort((a, b) => a.turn - b.turn || (a.one[0] < b.one[0] ? -1 : 1))
  const chosen = all.slice(0, limit).map(({ one }) => one)
  ends = before.ends
  taken = before.taken
  for (const [name] of chosen) {
    const crawl = ofSoon.get(name)
    if (crawl !== undefined) takeTurn(crawl)
  }
  for (const crawl of taken) m.line.set(crawl, ms(ends.get(crawl) ?? next))
  return chosen
}
