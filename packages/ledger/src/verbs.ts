/**
 * The verbs of one partition. Each has a script in lua/verbs/, its arguments in calls.ts, and a codec of the same name, which is called
 * here: a verb without a codec does not compile.
 */
import type { RobotsState } from '@decorum/robots'
import type { Verb } from './calls.ts'
import type { CrawlRecord } from './crawls/record.ts'
import type { List } from './layout.ts'
import type { Scripts } from './scripts.ts'
import type { VerbSettings } from './settings.ts'
import type { StopRecord } from './stops/record.ts'
import type {
  ClaimRequest,
  GrantRequest,
  LaneRef,
  LeasedLane,
  NextRequest,
  Outcome,
  ReserveRequest,
  Resolution,
  RobotsFetchEnd,
  RobotsRecord,
  SecondaryRequest,
  StartRequest,
  StoreItem,
  StoreMark,
} from './types.ts'
import { acquire } from './verbs/acquire.ts'
import { batched, MAX_ITEMS } from './verbs/batch.ts'
import { cancel } from './verbs/cancel.ts'
import { claim } from './verbs/claim.ts'
import { completer } from './verbs/complete.ts'
import { confirm } from './verbs/confirm.ts'
import { crawl } from './verbs/crawl.ts'
import { extend } from './verbs/extend.ts'
import { fleet, type Member } from './verbs/fleet.ts'
import { grant } from './verbs/grant.ts'
import { next } from './verbs/next.ts'
import { type NoteItem, note, type Tallies } from './verbs/note.ts'
import { type Rates, rates } from './verbs/rates.ts'
import { reap } from './verbs/reap.ts'
import { endRobotsFetch, keep, record } from './verbs/record.ts'
import { reserve } from './verbs/reserve.ts'
import { resolve } from './verbs/resolve.ts'
import { type Closing, restore } from './verbs/restore.ts'
import { sample } from './verbs/sample.ts'
import { start } from './verbs/start.ts'
import { stops } from './verbs/stops.ts'
import { type Elsewhere, store } from './verbs/store.ts'

type Codec = (...input: never[]) => Promise<unknown>

export const verbsOf = (scripts: Scripts, settings: VerbSettings) =>
  ({
    store: (items: StoreItem[], mark?: StoreMark, elsewhere?: Elsewhere) =>
      store(scripts, settings, items, mark, elsewhere),
    reserve: (request: ReserveRequest) => reserve(scripts, settings, request),
    start: batched(settings.clock, 'start', (requests: StartRequest[]) => start(scripts, settings, requests)),
    confirm: batched(settings.clock, 'confirm', (requests: LeasedLane[][]) => confirm(scripts, requests), {
      sizeOf: ({ length }) => length,
    }),
    acquire: (request: SecondaryRequest) => acquire(scripts, settings, request),
    grant: batched(settings.clock, 'grant', (requests: GrantRequest[]) => grant(scripts, settings, requests), {
      most: MAX_ITEMS / 2,
    }),
    next: (request: NextRequest) => next(scripts, request),
    extend: (held: LeasedLane[], leaseMs: number) => extend(scripts, held, leaseMs),
    claim: (request: ClaimRequest) => claim(scripts, settings, request),
    complete: completer(scripts, settings),
    restore: (closings: readonly Closing[]) => restore(scripts, settings, closings),
    resolve: (resolutions: Resolution[]) => resolve(scripts, resolutions),
    cancel: (list: LaneRef & { list: List }, urls: readonly { entry: string; outcome: Outcome }[]) =>
      cancel(scripts, list, urls),
    record: (robotsRecord: RobotsRecord) => record(scripts, settings, robotsRecord),
    keep: (origin: string, state: RobotsState) => keep(scripts, settings, origin, state),
    endRobotsFetch: (end: RobotsFetchEnd) => endRobotsFetch(scripts, settings, end),
    reap: () => reap(scripts, settings),
    fleet: (announced?: { member: Member; lifeMs: number }) => fleet(scripts, announced),
    rates: (record: Rates) => rates(scripts, record),
    crawl: (name: string, record: CrawlRecord, expected?: number) => crawl(scripts, name, record, expected),
    stops: (record: StopRecord, now: number, expected?: number) => stops(scripts, record, now, expected),
    note: (items: NoteItem[], tallies: Tallies) => note(scripts, items, tallies),
    sample: () => sample(scripts),
  }) satisfies Record<Verb | 'endRobotsFetch', Codec>

export type Verbs = ReturnType<typeof verbsOf>
