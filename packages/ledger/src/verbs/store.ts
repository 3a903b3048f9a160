/** store: stores URLs in their lanes, and outcomes that are already known in the stream. */
import {
  crawlField,
  DEFAULT_CRAWL,
  hostOf,
  isFrontierJob,
  type Outcome,
  type RefusedReason,
  registrableDomain,
} from '@decorum/protocol'
import { type Arg, GROUP, OUTCOME_ITEM, SINGLE, URL_ITEM } from '../calls.ts'
import { LIST, type List, laneName, listOf } from '../layout.ts'
import { countedAs } from '../notes.ts'
import { writePending } from '../records/pending-text.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { StoreItem, StoreMark, StoreResult } from '../types.ts'
import { slotOf } from './leaving.ts'

/** How long the mark of a stored item or chunk is kept. */
const MARK_MS = 7 * 86_400_000
/** How long a mark is kept once the job of its items is done. */
export const DONE_MARK_MS = 3_600_000

/** The name under which a host counts for the limit per registrable domain: the host itself if it has no such domain. */
export const limitedDomain = (origin: string): string => registrableDomain(hostOf(origin)) ?? hostOf(origin)

/** Number of URLs of a domain that other partitions took in. */
export type Elsewhere = (crawl: string, domain: string) => number

/** @param elsewhere  for crawls that have a limit per domain; absent: there is no other partition */
export async function store(
  scripts: Scripts,
  { laneLimit, outcomesLimit }: VerbSettings,
  items: StoreItem[],
  mark?: StoreMark,
  elsewhere: Elsewhere = () => 0,
): Promise<StoreResult> {
  let todo = items
  for (;;) {
    const { singles, others, outcomes } = sorted(todo)
    const { values } = await scripts.call(
      'store',
      { laneLimit, outcomesLimit, ...markArgs(mark), singles: singles.length },
      [
        ...singles.flatMap(({ lane, group: [one] }) =>
          SINGLE.write({ lane, url: writePending((one as UrlItem).pending) }),
        ),
        others.length,
        ...others.flatMap((group) => groupArgs(group, elsewhere)),
        ...outcomes,
      ],
    )
    const [stored, absorbed, written] = values
    if (stored === 'outcomes-full') return stored
    if (stored !== 'full')
      return {
        stored: Number(stored),
        absorbed: absorbed === 'again' ? items.length : Number(absorbed),
        outcomes: Number(written),
      }
    todo = refuseBeyond(todo, [...singles, ...others], values.slice(1), scripts.now() - scripts.aheadMs())
  }
}

function markArgs(mark: StoreMark | undefined) {
  const args = { markBy: '', markName: '', chunk: '' as Arg, markLifeMs: MARK_MS, beyondMs: 0 }
  if (mark === undefined) return args
  if ('key' in mark) return { ...args, markBy: 'key', markName: mark.key, chunk: 0 }
  const beyondMs = isFrontierJob(mark.job) ? DONE_MARK_MS : 0
  return { ...args, markBy: mark.token, markName: mark.job, chunk: mark.chunk, beyondMs }
}

type UrlItem = Extract<StoreItem, { pending: unknown }>
/** The URLs of one crawl for one lane: its name, the URLs, and their common list if they are plain. */
type LaneGroup = { lane: string; group: UrlItem[]; list: List | undefined }

/** Items by lane; lanes with one plain URL separately, because most lanes of a wide crawl are of this kind. */
function sorted(items: StoreItem[]): { singles: LaneGroup[]; others: LaneGroup[]; outcomes: Arg[] } {
  const byLane = new Map<string, UrlItem[]>()
  const outcomes: Arg[] = []
  for (const item of items) {
    if ('outcome' in item) {
      const { outcome, mark = '' } = item
      outcomes.push(
        ...OUTCOME_ITEM.write({
          json: JSON.stringify(outcome),
          kind: countedAs(outcome),
          crawl: outcome.crawl ?? '',
          ...slotOf(outcome.id, outcome.crawl),
          mark,
        }),
      )
    } else {
      const { crawl = DEFAULT_CRAWL } = item.pending
      const lane = laneName(item.lane.agent, item.lane.origin)
      const name = crawl === DEFAULT_CRAWL ? lane : `${lane} ${crawl}` // an origin holds no blank
      const group = byLane.get(name)
      if (group === undefined) byLane.set(name, [item])
      else group.push(item)
    }
  }
  const [singles, others]: [LaneGroup[], LaneGroup[]] = [[], []]
  for (const group of byLane.values()) {
    const [{ lane: at }] = group as [UrlItem]
    const lane = laneName(at.agent, at.origin)
    const list = plainList(group)
    const isSingle = group.length === 1 && list === LIST.normal
    ;(isSingle ? singles : others).push({ lane, group, list })
  }
  return { singles, others, outcomes }
}

/** The common list of these URLs, if no id is looked up and no mark distinguishes them. */
function plainList(group: UrlItem[]): List | undefined {
  const priority = group[0]?.pending.priority
  const isPlain = group.every(
    ({ pending, mark }) =>
      mark === undefined && pending.priority === priority && slotOf(pending.id, pending.crawl).bucket === '',
  )
  return isPlain ? listOf(priority, group[0]?.pending.crawl) : undefined
}

function groupArgs({ lane, group, list }: LaneGroup, elsewhere: Elsewhere): Arg[] {
  const [{ lane: at, pending: first }] = group as [UrlItem]
  const { crawl = DEFAULT_CRAWL } = first
  const domain = crawl === DEFAULT_CRAWL ? '' : limitedDomain(at.origin)
  const others = crawl === DEFAULT_CRAWL ? 0 : elsewhere(crawl, domain)
  const header = GROUP.write({ lane, form: list ?? '*', domain, elsewhere: others, urls: group.length })
  if (list !== undefined) return [...header, ...group.map(({ pending }) => writePending(pending))]
  const urls = group.flatMap(({ pending, mark = '' }) =>
    URL_ITEM.write({
      list: listOf(pending.priority, pending.crawl),
      url: writePending(pending),
      ...slotOf(pending.id, pending.crawl),
      mark,
    }),
  )
  return [...header, ...urls]
}

/** Turns URLs for which their lane, or a limit of their crawl, has no room into outcomes; earlier URLs of the lane stay. */
function refuseBeyond(items: StoreItem[], lanes: LaneGroup[], full: string[], at: number): StoreItem[] {
  const beyond = new Map<StoreItem, RefusedReason>()
  for (let n = 0; n < full.length; n += 3) {
    const group = lanes[Number(full[n]) - 1]?.group ?? []
    const reason = full[n + 2] as RefusedReason
    for (const item of group.slice(Number(full[n + 1]))) beyond.set(item, reason)
  }
  return items.map((item) => {
    const reason = beyond.get(item)
    if (reason === undefined || 'outcome' in item) return item
    const { lane, pending, mark } = item
    const outcome: Outcome = {
      id: pending.id,
      url: lane.origin + pending.path,
      agent: lane.agent,
      kind: 'refused',
      reason,
      at,
      attempts: 0,
      ...crawlField(pending.crawl),
      ...(pending.meta === undefined ? {} : { meta: pending.meta }),
    }
    return mark === undefined ? { outcome } : { outcome, mark }
  })
}
