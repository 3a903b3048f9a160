/** The rules of turns between permits of crawls, and between these and the URLs of their lane. */
import { crawlAsking, laneOf, type Model, originOf, type Queue, turnLength, turnsOf } from './state.ts'

const permitTurnsOf = (m: Model, name: string): Map<string, number> => {
  const turns = m.permitTurns.get(name) ?? new Map<string, number>()
  m.permitTurns.set(name, turns)
  return turns
}

/** One that has URLs in the lane has one turn for both. */
const turnIn = (m: Model, name: string, crawl: string): number | undefined =>
  m.lanes.get(name)?.turns?.get(crawl) ?? m.permitTurns.get(name)?.get(crawl)

/** The next turn of the lane's own URLs, none where all of their crawls are held. From here on those of the default crawl take turns as well. */
function turnOfOwn(m: Model, name: string): number | undefined {
  const lane = laneOf(m, name)
  if (lane.turns === undefined)
    lane.turns = new Map([['default', Math.min(...(m.permitTurns.get(name)?.values() ?? [0]))]])
  return turnsOf(lane).find(([crawl]) => m.crawls.get(crawl)?.held !== true)?.[1]
}

/**
 * The lane's own URLs and the permits of crawls that are asked for in it share their places in line in the order of their turns. All others
 * keep theirs: permits of no crawl, and requests of other lanes, for whom this one is their host's.
 */
export function orderByTurns(m: Model, name: string, queue: Queue, crawl: string): void {
  const { waiting } = queue
  const takesTurns = (one: string): boolean =>
    one === name || (originOf(one) === originOf(name) && crawlAsking(one) !== undefined)
  const found = waiting.flatMap((entry, place) => {
    if (!takesTurns(entry.name)) return []
    const other = crawlAsking(entry.name) ?? ''
    const isAsking = entry.name !== name && other === crawl
    const turn = entry.name === name ? turnOfOwn(m, name) : turnIn(m, name, other)
    return [{ entry, place, isAsking, turn }]
  })
  const others = found.flatMap(({ isAsking, turn }) => (isAsking || turn === undefined ? [] : [turn]))
  const turn = comeBack(m, name, crawl, others.length === 0 ? undefined : Math.min(...others))
  const turnOf = (one: (typeof found)[number]): number => (one.isAsking ? turn : (one.turn ?? Number.POSITIVE_INFINITY))
  const ordered = [...found].sort((a, b) => Math.sign(turnOf(a) - turnOf(b)) || a.place - b.place)
  for (const [at, { place }] of found.entries()) waiting[place] = (ordered[at] as (typeof found)[number]).entry
}

/** A crawl gains nothing by a long absence, and loses nothing by requests that it made before others came. */
function comeBack(m: Model, name: string, crawl: string, next: number | undefined): number {
  const stored = m.lanes.get(name)?.turns?.get(crawl)
  if (stored !== undefined) return stored
  const turns = permitTurnsOf(m, name)
  const length = turnLength(m, crawl)
  const known = turns.get(crawl) ?? (next ?? 0) + length
  const turn = next === undefined ? known : Math.max(next - 1, Math.min(next + length, known))
  turns.set(crawl, turn)
  return turn
}

/** A permit of the crawl was granted. */
export function takeTurn(m: Model, name: string, crawl: string): void {
  const stored = m.lanes.get(name)?.turns
  const turns = stored?.has(crawl) ? stored : permitTurnsOf(m, name)
  turns.set(crawl, (turns.get(crawl) ?? 0) + turnLength(m, crawl))
}
