/** The rules of crawls: what is set of one, and URLs that are cancelled. */
import {
  type Call,
  type CrawlSet,
  crawlOf,
  endTurn,
  firstExpiry,
  idIn,
  isSecondary,
  type List,
  type Model,
  makeDue,
  mindExpiry,
  open,
  openUnlessInDoubt,
  streamOf,
  urlsIn,
} from './state.ts'

/** A later version replaces an earlier one, and nothing else does. */
type Written = 'written' | 'kept' | 'overtaken'

export function setCrawl(m: Model, call: Call, name: string, set: CrawlSet): Written {
  open(m, call)
  const known = m.crawls.get(name)?.version ?? 0
  if (known >= set.version) return known === set.version ? 'kept' : 'overtaken'
  m.hasCrawls = true
  m.crawls.set(name, set)
  return 'written'
}

type Asked = { id: string; expiresAt: number }
/** Of two URLs that have one id, because it is never looked up, the one that was asked for is meant. */
export function cancel(m: Model, call: Call, name: string, list: List, asked: Asked[]): string[] | 'doubt' {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  const lane = m.lanes.get(name)
  const lease = lane?.lease?.list === list && !isSecondary(lane.lease) ? lane.lease : undefined
  const answers = asked.map(({ id, expiresAt }) => {
    const urls = lane === undefined ? [] : urlsIn(lane, list)
    const place = urls.findIndex((url) => url.id === id && url.expiresAt === expiresAt)
    if (lane === undefined || place < 0) return 'absent'
    if (place === 0 && lease?.started !== undefined) return 'in-flight'
    urls.splice(place, 1)
    m.ids.delete(idIn(crawlOf(list), id))
    streamOf(m, crawlOf(list)).push(`${id} refused`)
    if (place === 0 && lane.triedList === list) delete lane.triedList
    endTurn(lane, crawlOf(list))
    return 'cancelled'
  })
  if (lane !== undefined && lease !== undefined && lease.started === undefined && answers.includes('cancelled'))
    makeDue(lane, lease.notBefore)
  else if (lane !== undefined && answers.includes('cancelled')) {
    const first = firstExpiry(m, lane)
    if (first !== undefined) mindExpiry(lane, first.at)
  }
  return answers
}
