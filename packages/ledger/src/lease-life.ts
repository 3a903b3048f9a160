/**
 * The life of a lease, as a table: its states and events. lua/lib/lease.lua uses it to check whether an event may happen to a lease that
 * its holder names by the fence (`LIFE.done(…)`, made when the scripts are loaded). docs/leases.md is printed from it, and the model in
 * test/ledger/model follows it.
 */
import { KIND, type Verbatim } from './layout.ts'

export const LEASE_STATES = {
  none: 'the lane is due, or will be: it has no lease',
  reserved: 'a gateway has taken the lane, for so long as a reservation lasts; nothing may be sent',
  started: 'its holder may send one request after the other; a delay is owed',
} as const
export type LeaseState = keyof typeof LEASE_STATES

/** The purpose of a lease: KIND in layout.ts. A reservation has none yet. */
export type LeaseKind = Exclude<(typeof KIND)[keyof typeof KIND], 'candidate'>
const PAGES: readonly LeaseKind[] = [KIND.page, KIND.robotsPage]
const OWN: readonly LeaseKind[] = [...PAGES, KIND.robots]
const SECONDARY: readonly LeaseKind[] = [KIND.hop, KIND.permit, KIND.host, KIND.paceGroup]
const ANY = [...OWN, ...SECONDARY]
export const LEASE_KINDS: readonly LeaseKind[] = ANY

export type LeaseEvent = {
  means: string
  by: string
  /** the states from which the event may happen, and for started leases, the kinds */
  from: { none?: true; reserved?: true; started?: readonly LeaseKind[] }
  to: LeaseState
  /** the effect on the lane or on the lease */
  lane: string
  /** true: the holder names the lease by its fence (LIFE in the scripts); absent: the script itself finds the lease */
  isHeld?: true
  /** The event may not happen after the lease has expired, whether or not it has been reaped. */
  whileItLasts?: true
}

const OWED = 'due after the end of its latest exchange and the delay owed'
const GIVEN_BACK = 'due at its own time; a gate that is closed holds it'

const EVENTS = {
  reserve: {
    means: 'a gateway takes a lane that is due, or claims one for the robots fetch that a permit waits for',
    by: 'reserve, claim',
    from: { none: true },
    to: 'reserved',
    lane: 'its due time is kept in the lease',
  },
  acquire: {
    means: 'a request holds the lane besides its own, hops into it, or is made under a permit',
    by: 'acquire, grant, and start for the pace lane',
    from: { none: true },
    to: 'started',
    lane: 'those that wait for the lane keep their places in its line',
  },
  keep: {
    means: 'URLs of it have left, and an order follows',
    by: 'resolve',
    from: { reserved: true },
    to: 'reserved',
    lane: 'nothing',
    isHeld: true,
  },
  pool: {
    means: 'an order for a worker of a pool follows',
    by: 'resolve',
    from: { reserved: true },
    to: 'reserved',
    lane: 'it takes no slot of the fetchers',
    isHeld: true,
  },
  defer: {
    means: 'a gate that the gateway knows is closed',
    by: 'resolve',
    from: { reserved: true },
    to: 'none',
    lane: GIVEN_BACK,
    isHeld: true,
  },
  release: {
    means: 'it is not wanted any more, and no connection was made',
    by: 'resolve',
    from: { reserved: true, started: SECONDARY },
    to: 'none',
    lane: GIVEN_BACK,
    isHeld: true,
  },
  start: {
    means: 'the holder of an order asks for the request; a gate that is closed ends the reservation instead',
    by: 'start',
    from: { reserved: true },
    to: 'started',
    lane: 'the lane of its host or group is leased with it, or neither is',
    isHeld: true,
  },
  confirm: {
    means: 'a holder that took long to connect asks whether it may still send',
    by: 'confirm',
    from: { started: ANY },
    to: 'started',
    lane: 'nothing',
    isHeld: true,
    whileItLasts: true,
  },
  next: {
    means: 'one more request under it: the one before has ended',
    by: 'next',
    from: { started: ANY },
    to: 'started',
    lane: 'the request is sent when the delay owed by every lane that is held is over',
    isHeld: true,
    whileItLasts: true,
  },
  extend: {
    means: 'a worker or the holder of a permit needs it longer',
    by: 'extend',
    from: { started: ANY },
    to: 'started',
    lane: 'its end',
    isHeld: true,
    whileItLasts: true,
  },
  done: {
    means: 'the exchange has ended, and the URL with it',
    by: 'complete',
    from: { started: OWN },
    to: 'none',
    lane: OWED,
    isHeld: true,
  },
  end: {
    means: 'the exchange has ended, and URLs may leave with it',
    by: 'complete',
    from: { started: ANY },
    to: 'none',
    lane: OWED,
    isHeld: true,
  },
  again: {
    means: 'the exchange has ended, and the URL is requested once more',
    by: 'complete',
    from: { started: OWN },
    to: 'none',
    lane: `${OWED}; an attempt is counted`,
    isHeld: true,
  },
  over: {
    means: 'the request that held the lane has ended',
    by: 'complete',
    from: { started: ANY },
    to: 'none',
    lane: OWED,
    isHeld: true,
  },
  record: {
    means: 'the robots fetch has brought an answer, or has failed',
    by: 'record',
    from: { started: [KIND.robots] },
    to: 'none',
    lane: `${OWED}, and any back-off that the answer demands`,
    isHeld: true,
  },
  unused: {
    means: 'a connection was made, and nothing sent',
    by: 'resolve',
    from: { started: ANY },
    to: 'none',
    lane: 'due after the delay owed, from now; no attempt is counted',
    isHeld: true,
  },
  cancel: {
    means: 'its URL is cancelled',
    by: 'cancel',
    from: { reserved: true },
    to: 'none',
    lane: GIVEN_BACK,
  },
  longer: {
    means: 'a longer delay is known of its lane',
    by: 'record, operate',
    from: { reserved: true },
    to: 'reserved',
    lane: 'it may be started that much later',
  },
  reapReserved: {
    means: 'its time is over, and it was never started',
    by: 'reap',
    from: { reserved: true },
    to: 'none',
    lane: 'due at its own time',
  },
  reap: {
    means: 'its time is over: its holder is gone, and may still be sending',
    by: 'reap',
    from: { started: ANY },
    to: 'none',
    lane: 'due after quarantine and the delay owed, from now; of a page an attempt is counted',
  },
} as const satisfies Record<string, LeaseEvent>

export type LeaseEventName = keyof typeof EVENTS
export const LEASE_EVENTS: Readonly<Record<LeaseEventName, LeaseEvent>> = EVENTS
/** The events in which the holder names its lease by the fence. */
export const HELD_EVENTS = (Object.keys(EVENTS) as LeaseEventName[]).filter((name) => LEASE_EVENTS[name].isHeld)

/** Replaces `LIFE.done` in a script. */
export const LIFE: Record<string, Verbatim> = Object.fromEntries(
  HELD_EVENTS.map((name) => [name, { lua: `life_${name}` }]),
)
const PARAMETERS = 'fence, startedAt, kind, ends, named'

/** The conditions under which an event may happen to a lease, in Lua; the first is that its holder names it. */
export function conditionsOf(name: LeaseEventName): string[] {
  const { from, whileItLasts } = LEASE_EVENTS[name]
  return ['fence == named', stateText(from), ...(whileItLasts ? ['ends > now'] : [])]
}

/** In a script: `LIFE.done(fence, startedAt, kind, ends, named)`, with the fields of a lease and the fence that its holder names. */
export const lifeFunctions = (): string =>
  HELD_EVENTS.map(
    (name) => `local function life_${name}(${PARAMETERS}) return ${conditionsOf(name).join(' and ')} end`,
  ).join('\n')

function stateText({ reserved, started = [] }: LeaseEvent['from']): string {
  const ofKind =
    started.length === ANY.length ? '' : ` and (${started.map((kind) => `kind == '${kind}'`).join(' or ')})`
  const isStarted = `startedAt > 0${ofKind}`
  if (!reserved) return isStarted
  return started.length === 0 ? 'startedAt == 0' : `(startedAt == 0 or ${isStarted})`
}
