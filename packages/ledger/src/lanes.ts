/** The lanes of one partition: park, take, begin, settle, resolve, reap. What the scripts speak in scalars, callers see as values. */
import { randomInt } from 'node:crypto'
import { isAssigned, isFrontierJob, type Outcome } from '@decorum/protocol'
import { type Batcher, batched } from './batch.ts'
import { encodeEntry, idSlot } from './entry.ts'
import { laneName, readLaneName } from './keys.ts'
import type { Arg, Scripts } from './scripts.ts'
import { readState } from './state-text.ts'
import { type TakeRequest, take } from './take.ts'
import type {
  BeginRequest,
  EnterRequest,
  Entry,
  Mood,
  Parked,
  ParkItem,
  ParkMark,
  ParkResult,
  Permit,
  Reaped,
  Resolution,
  Settlement,
  SettleResult,
  TakeResult,
} from './types.ts'

/** Items of one script call: about 1 ms of Redis (measured: queue-lab §3). */
export const MAX_ITEMS = 200
/** How long it is remembered that something was parked, where nothing else says so. */
const MARK_MS = 7 * 86_400_000
/** The same once its job is done. */
export const DONE_MARK_MS = 3_600_000

export type LaneSettings = {
  leaseMs: number
  grantAheadMs: number
  quarantineMs: number
  reserveMs: number
  laneLimit: number
  outcomesLimit: number
  backOffMs: number
  backOffMaxMs: number
  backOffQuietMs: number
}

export type Lanes = {
  park(items: ParkItem[], mark?: ParkMark): Promise<ParkResult>
  take(request: TakeRequest): Promise<TakeResult>
  begin: Batcher<BeginRequest, Permit>
  enter(request: EnterRequest): Promise<Entry>
  settle: Batcher<Settlement, SettleResult>
  resolve(resolutions: Resolution[]): Promise<SettleResult[]>
  reap(): Promise<Reaped>
}

export function lanesOf(scripts: Scripts, settings: LaneSettings): Lanes {
  const settleAll = async (items: Arg[][]): Promise<SettleResult[]> => {
    if (items.length === 0) return []
    const { backOffMs, backOffMaxMs, backOffQuietMs } = settings
    const answer = await scripts.call('settle', backOffMs, backOffMaxMs, backOffQuietMs, ...items.flat())
    return answer.slice(2) as SettleResult[]
  }
  return {
    park: (items, mark) => park(scripts, settings, items, mark),
    take: (request) => take(scripts, settings, request),
    begin: batched((requests) => begin(scripts, settings, requests), MAX_ITEMS),
    enter: (request) => enter(scripts, settings, request),
    settle: batched((settlements: Settlement[]) => settleAll(settlements.map(settlementArgs)), MAX_ITEMS / 2),
    resolve: (resolutions) => settleAll(resolutions.map(resolutionArgs)),
    reap: () => reap(scripts, settings),
  }
}

/** Nobody looks up an id that a gateway has assigned: its job is accepted once, so there is no second one. */
const slotOf = (id: string): { bucket: string; number: string } =>
  isAssigned(id) ? { bucket: '', number: '' } : idSlot(id)

async function park(scripts: Scripts, settings: LaneSettings, items: ParkItem[], mark?: ParkMark): Promise<ParkResult> {
  let todo = items
  for (;;) {
    const byLane = new Map<string, Extract<ParkItem, { parked: unknown }>[]>()
    const outcomes: Arg[] = []
    for (const item of todo) {
      if ('outcome' in item) {
        const { bucket, number } = slotOf(item.outcome.id)
        outcomes.push(JSON.stringify(item.outcome), item.outcome.kind, bucket, number, item.mark ?? '')
      } else {
        const lane = laneName(item.lane.agent, item.lane.origin)
        const group = byLane.get(lane)
        if (group === undefined) byLane.set(lane, [item])
        else group.push(item)
      }
    }
    const lanes = [...byLane.entries()]
    const answer = await scripts.call(
      'park',
      settings.laneLimit,
      ...(mark === undefined ? ['', '', ''] : 'job' in mark ? ['job', mark.job, mark.chunk] : ['key', mark.key, 0]),
      MARK_MS,
      mark !== undefined && 'job' in mark && isFrontierJob(mark.job) ? DONE_MARK_MS : 0,
      lanes.length,
      ...lanes.flatMap(([lane, group]) => laneArgs(lane, group)),
      ...outcomes,
    )
    if (answer[2] !== 'full') {
      return {
        parked: Number(answer[2]),
        absorbed: answer[3] === 'again' ? items.length : Number(answer[3]),
        outcomes: Number(answer[4]),
      }
    }
    todo = refuseBeyond(todo, lanes, answer.slice(3))
  }
}

/** What goes into one lane, in the shortest form that says it (lua/park.lua). */
function laneArgs(lane: string, group: Extract<ParkItem, { parked: unknown }>[]): Arg[] {
  const priority = group[0]?.parked.priority
  const isPlain = group.every(
    ({ parked, mark }) => mark === undefined && parked.priority === priority && isAssigned(parked.id),
  )
  if (isPlain) return [lane, listOf(priority), group.length, ...group.map(({ parked }) => encodeEntry(parked))]
  const items = group.flatMap(({ parked, mark }): Arg[] => {
    const { bucket, number } = slotOf(parked.id)
    return [listOf(parked.priority), encodeEntry(parked), bucket, number, mark ?? '']
  })
  return [lane, '*', group.length, ...items]
}

const listOf = (priority: Parked['priority'] | undefined): 'h' | 'q' => (priority === 'high' ? 'h' : 'q')

/** What finds no room in its lane becomes an outcome; what came first stays. */
function refuseBeyond(items: ParkItem[], lanes: [string, ParkItem[]][], full: string[]): ParkItem[] {
  const beyond = new Set<ParkItem>()
  for (let at = 0; at < full.length; at += 2) {
    const group = lanes[Number(full[at]) - 1]?.[1] ?? []
    for (const item of group.slice(Number(full[at + 1]))) beyond.add(item)
  }
  return items.map((item) => {
    if (!beyond.has(item) || 'outcome' in item) return item
    const { lane, parked, mark } = item
    const outcome: Outcome = {
      id: parked.id,
      url: lane.origin + parked.path,
      agent: lane.agent,
      kind: 'refused',
      reason: 'lane-full',
      at: Date.now(),
      attempts: 0,
      ...(parked.meta === undefined ? {} : { meta: parked.meta }),
    }
    return mark === undefined ? { outcome } : { outcome, mark }
  })
}

async function begin(scripts: Scripts, settings: LaneSettings, requests: BeginRequest[]): Promise<Permit[]> {
  const args = requests.flatMap((r) => {
    const clock = r.clock === undefined ? '' : laneName(r.clock.agent, r.clock.origin)
    return [laneName(r.agent, r.origin), r.fence, r.kind, r.version, r.gapMs, clock]
  })
  const answer = await scripts.call('begin', settings.leaseMs, settings.grantAheadMs, ...args)
  return requests.map((_, index): Permit => {
    const kind = answer[2 + index * 2] as string
    const [wait, fence, gap] = (answer[3 + index * 2] as string).split('|')
    const waitMs = Number(wait)
    if (kind === 'granted') {
      const clock = fence === undefined ? {} : { clock: { fence: Number(fence), gapMs: Number(gap) } }
      return { kind, leaseMs: settings.leaseMs, ...(waitMs > 0 ? { waitMs } : {}), ...clock }
    }
    if (kind === 'early') return { kind, waitMs }
    return { kind: 'refused', why: kind as Extract<Permit, { kind: 'refused' }>['why'] }
  })
}

async function enter(
  scripts: Scripts,
  { leaseMs }: LaneSettings,
  { lanes, kind, gapMs }: EnterRequest,
): Promise<Entry> {
  const names = lanes.map(({ agent, origin }) => laneName(agent, origin))
  const [, , answer, value, gap, lane] = await scripts.call('enter', leaseMs, gapMs, kind, ...names)
  if (answer === 'wait') return { kind: answer, waitMs: Number(value) }
  return { kind: 'granted', lane: readLaneName(lane ?? ''), fence: Number(value), gapMs: Number(gap), leaseMs }
}

function settlementArgs(s: Settlement): Arg[] {
  const stays = s.outcome === undefined && s.entered !== true
  const args: Arg[] = [
    laneName(s.agent, s.origin),
    s.fence,
    stays ? 'again' : 'end',
    s.gapMs,
    s.restedMs === 0 ? 0 : s.restedMs.toFixed(3),
    moodArg(s.mood),
    (s.outcome === undefined ? 0 : 1) + (s.candidate === undefined ? 0 : 1),
  ]
  if (s.outcome !== undefined) pushOutcome(args, s.outcome)
  if (s.candidate !== undefined) args.push(JSON.stringify(s.candidate), 'candidate', '')
  return args
}

const moodArg = (mood: Mood): string =>
  mood.kind === 'fine'
    ? 'fine'
    : `${mood.kind} ${randomInt(1_000) / 1_000} ${mood.kind === 'too-fast' ? (mood.retryAfterMs ?? '') : ''}`

function pushOutcome(args: Arg[], outcome: Outcome): void {
  const { bucket, number } = slotOf(outcome.id)
  args.push(JSON.stringify(outcome), outcome.kind, bucket === '' ? '' : `${bucket}:${number}`)
}

function resolutionArgs(r: Resolution): Arg[] {
  const [value, why] = r.next.kind === 'defer' ? [r.next.until.toFixed(3), r.next.why] : [0, '']
  const args: Arg[] = [laneName(r.agent, r.origin), r.fence, r.next.kind, value, 0, why, r.dropped.length]
  for (const outcome of r.dropped) pushOutcome(args, outcome)
  return args
}

async function reap(scripts: Scripts, settings: LaneSettings): Promise<Reaped> {
  const answer = await scripts.call('reap', settings.quarantineMs)
  const questions: Reaped['questions'] = []
  for (let at = 5; at < answer.length; at += 4) {
    const [lane, fence, version, state] = answer.slice(at, at + 4) as [string, string, string, string]
    questions.push({ ...readLaneName(lane), fence: Number(fence), version: Number(version), state: readState(state) })
  }
  const counted = { begun: Number(answer[2]), unbegun: Number(answer[3]), questions }
  return answer[4] === '1' ? { ...counted, more: true } : counted
}
