/**
 * The central rule of the project, as a table: whether a request may be sent now, and if not, which gate holds it, until when, what becomes
 * of its lane, and what wakes it. One part of the ledger (lua/lib/gates.lua) judges the ledger's gates by this table, and one file of the
 * sender (packages/politeness/src/admission/sender-gates.ts) those of a robots.txt, which only a sender can judge. docs/gates.md is printed
 * from it; `why`, the console, `check` and the model read it too. The judge of the recording sites is written by hand, without it.
 *
 * A cell without an answer, or a gate without a reader, is an error when the scripts are loaded.
 */

/** The kinds of request, and of other lanes that a request holds. */
export const WHATS = {
  page: 'a page: a stored URL that a fetcher or a worker of a pool requests',
  robots: 'a robots fetch that the next URL of a lane needs, or a page whose URL is a robots.txt',
  permitRobots: 'a robots fetch that a permit waits for',
  hop: 'a hop of a robots.txt into a free lane, or a robots fetch of `decorum check`',
  heldHop: 'a hop of a robots.txt in a lane that the robots fetch holds already',
  permit: 'a request under a permit',
  further: 'a further request under the order of a pool',
  host: 'the lane of the host, which a request to another scheme or port of it holds besides its own',
  group: 'a lane of a pace group (domain, address, list), which a request holds besides its own',
} as const
export type What = keyof typeof WHATS

export const MOMENTS = {
  reserve: 'before the lane is reserved',
  grant: 'before the lease is granted',
  send: 'before the first byte, when the grant is older than half a second',
  underWay: 'while the lease is extended',
} as const
export type Moment = keyof typeof MOMENTS

/** Whose requests a gate holds back. */
export type Scope = 'fleet' | 'domain' | 'host' | 'origin' | 'lane' | 'crawl' | 'URL'

/** true: the gate counts. A text: it does not count, for this reason. */
export type Cell = true | string
export type Cells = Readonly<Record<What, Cell>>

/**
 * ends: the request is refused for good, whatever other gate is closed.
 * waits: until an instant; of several the gate that opens last is named.
 * again: all other gates are open, and the request is judged once more, at once.
 */
export type Manner = 'ends' | 'waits' | 'again'

export type GateRow = {
  means: string
  knownBy: 'ledger' | 'sender'
  scope: Scope
  manner: Manner
  /** what becomes of the lane, or of a request without a lane */
  lane: string
  /** what wakes the lane when the gate opens early */
  wakes: string
} & Readonly<Record<Moment, Cells>>

const whats = Object.keys(WHATS) as What[]
const fill = (cell: Cell): Record<What, Cell> =>
  Object.fromEntries(whats.map((what) => [what, cell])) as Record<What, Cell>
/** A gate that counts for every kind of request but these, each with its reason. */
const all = (but: Partial<Record<What, string>> = {}): Cells => ({ ...fill(true), ...but })
/** A gate that counts for no kind of request, for the given reason, but these. */
const none = (because: string, but: Partial<Record<What, Cell>> = {}): Cells => ({ ...fill(because), ...but })

const NOT_RESERVED = 'it is not reserved: it asks for its lease at once'
/** Cells of `reserve`: only pages, robots fetches and permits' robots fetches are reserved. */
const reserved = (page: Cell, permitRobots: Cell = page): Cells =>
  none(NOT_RESERVED, { page, permitRobots, robots: 'reserved as a page; which of the two it is, the gateway decides' })

const STARTED_AS_ROBOTS = 'its order is started as any robots fetch'
/** Cells of a gate for `grant`: each kind of request counts, but for those that are named. */
const granted = (but: Partial<Record<What, Cell>> = {}): Cells =>
  all({ permitRobots: STARTED_AS_ROBOTS, ...but } as Record<What, string>)
/** Cells of `send`, where a lease is checked by its kind. */
const sent = (but: Partial<Record<What, string>> = {}): Cells =>
  all({
    permitRobots: STARTED_AS_ROBOTS,
    heldHop: 'the lane is confirmed as what its lease was granted for',
    further: 'the order is confirmed as a page',
    ...but,
  })

const OWN_LANE = "counted by the request's own lane, which has the same host"
const NO_SITE = 'a group is no site: the lane of the request counts it'
const HOST_IS_NOT_MEANT = 'it is about one origin, and the other ports of the host go on'
const FINISHED = 'a request under way is finished: its answer is wanted, and ending it spares the site nothing'
const NEVER_EXTENDED = 'its holder, a fetcher, never extends it: the request ends within its deadline'
const underWay = (page: Cell, others: Partial<Record<What, Cell>> = {}): Cells =>
  none(NEVER_EXTENDED, { page, permit: page, further: 'its order is extended as a page', ...others })

/** The gates whose readers are in lua/lib/gates.lua; when two open at the same instant, the first in this order is named. */
const LEDGER_GATES = {
  'startup-hold': {
    means: 'Redis has forgotten, or its clock is in doubt: requests that nobody knows of any more may be under way.',
    knownBy: 'ledger',
    scope: 'fleet',
    manner: 'waits',
    lane: 'keeps its due time, and is looked at when the hold ends',
    wakes: 'nobody: the hold ends at an instant',
    reserve: reserved(true),
    grant: granted(),
    send: sent(),
    underWay: underWay(FINISHED),
  },
  stopped: {
    means: 'An emergency stop of everything, of a domain or of a host is in force.',
    knownBy: 'ledger',
    scope: 'domain',
    manner: 'waits',
    lane: 'waits until the stop ends or the first URL in any of its lists expires',
    wakes: 'the gateways, when the record of the stops changes',
    reserve: reserved(true),
    grant: granted({ host: OWN_LANE }),
    send: sent({ host: OWN_LANE }),
    underWay: underWay(true),
  },
  paused: {
    means: 'An operator has paused an origin of the host.',
    knownBy: 'ledger',
    scope: 'host',
    manner: 'waits',
    lane: 'waits until the pause ends or the first URL in any of its lists expires',
    wakes: 'the operation `resume`',
    reserve: reserved(true),
    grant: granted({ group: NO_SITE }),
    send: sent({ group: NO_SITE }),
    underWay: underWay(true, { host: true }),
  },
  'back-off': {
    means:
      'The site has asked for less (429, 503) or to wait (Retry-After beside any answer), has turned requests away several times (403), or its connections failed.',
    knownBy: 'ledger',
    scope: 'host',
    manner: 'waits',
    lane: 'waits until the back-off ends or the first URL in any of its lists expires',
    wakes: 'nobody: a back-off is never shortened',
    reserve: reserved(true),
    grant: granted({ group: NO_SITE }),
    send: sent({ group: NO_SITE }),
    underWay: underWay(true, { host: true }),
  },
  'visiting-hours': {
    means: 'The policy of the site has visiting hours, and they have not begun.',
    knownBy: 'ledger',
    scope: 'host',
    manner: 'waits',
    lane: 'waits until the hours begin or the first URL in any of its lists expires',
    wakes: 'the gateways, when the policies change',
    reserve: reserved(true),
    grant: granted({ host: OWN_LANE, group: NO_SITE }),
    send: sent({ host: OWN_LANE, group: NO_SITE }),
    underWay: underWay(true),
  },
  budget: {
    means: 'The requests that the policy of the site allows its host in one day are spent.',
    knownBy: 'ledger',
    scope: 'host',
    manner: 'waits',
    lane: 'waits until the day (UTC) ends or the first URL in any of its lists expires',
    wakes: 'the gateways, when the policies change',
    reserve: reserved(true),
    grant: granted({ host: OWN_LANE, group: NO_SITE }),
    send: none('the request was counted when it was granted'),
    underWay: none('the request was counted when it was granted'),
  },
  'crawl-held': {
    means: 'The crawl of the URL is paused or over, or nobody reads its outcomes.',
    knownBy: 'ledger',
    scope: 'crawl',
    manner: 'waits',
    lane: 'other crawls of the lane go on; where there is none it is looked at again after half a minute at most',
    wakes: 'nobody: the lane is looked at again',
    reserve: reserved(true),
    grant: none('a robots.txt belongs to the origin: a fetch that has begun is finished', {
      page: true,
      robots: true,
      permit: true,
      further: true,
      host: OWN_LANE,
      group: OWN_LANE,
    }),
    send: none('it was looked at half a second ago, and the outcome of one request is wanted'),
    underWay: underWay(FINISHED),
  },
  'robots-in-flight': {
    means: 'The robots.txt of the origin is being fetched, by another request.',
    knownBy: 'ledger',
    scope: 'origin',
    manner: 'waits',
    lane: 'waits until the robots fetch ends, at most lease and quarantine',
    wakes: 'the script that records the answer or the end of the robots fetch',
    reserve: reserved(
      'the gateway reads it from the robots state, and judges whether the rules are fresh without it',
      true,
    ),
    grant: none('the rules in force are fresh without it, or the judge of the rules would have said to wait', {
      robots: true,
      hop: true,
      heldHop: true,
    }),
    send: none('the rules that it was judged by are in force'),
    underWay: none('rules that come count for the next request'),
  },
  blocked: {
    means: 'An operator has blocked the origin.',
    knownBy: 'ledger',
    scope: 'origin',
    manner: 'ends',
    lane: 'is due at its own time, and its URLs end as refused: blocked-by-operator; a permit or a hop is refused',
    wakes: 'nobody: no lane waits for it',
    reserve: reserved('the lane is reserved, so that its URLs end', true),
    grant: granted({ host: HOST_IS_NOT_MEANT, group: HOST_IS_NOT_MEANT }),
    send: sent({ host: HOST_IS_NOT_MEANT, group: HOST_IS_NOT_MEANT }),
    underWay: underWay(true),
  },
  'rules-changed': {
    means: 'The rules that the request was judged by are not in force any more.',
    knownBy: 'ledger',
    scope: 'origin',
    manner: 'again',
    lane: 'is due at its own time',
    wakes: 'nobody: no lane waits for it',
    reserve: reserved('nothing has been judged yet'),
    grant: granted({
      hop: 'the target of a hop is judged by its sender',
      heldHop: 'the target of a hop is judged by its sender',
      host: HOST_IS_NOT_MEANT,
      group: HOST_IS_NOT_MEANT,
    }),
    send: none('it has not been judged by rules of this origin', { page: true, robots: true }),
    underWay: underWay(FINISHED, { page: true }),
  },
  refetch: {
    means: 'An operator wants the robots.txt fetched again before any other request.',
    knownBy: 'ledger',
    scope: 'origin',
    manner: 'again',
    lane: 'is due at its own time: its next request is the robots fetch',
    wakes: 'nobody: no lane waits for it',
    reserve: reserved('the lane is reserved, so that the robots fetch is ordered'),
    grant: none('it is, or belongs to, a robots fetch, or it is no request of this origin', {
      page: true,
      permit: true,
      further: true,
    }),
    send: none('it is, or belongs to, a robots fetch, or it is no request of this origin', { page: true }),
    underWay: underWay(FINISHED),
  },
} as const satisfies Record<string, GateRow & { knownBy: 'ledger' }>
export type LedgerGate = keyof typeof LEDGER_GATES

const AT_EACH_CALL = 'each call looks at it'
const BY_LEASE = 'the lease of the lane is held by then'
const PASSED = 'it was passed when the lease was granted'

/** Gates of a lane, and of a process that reserves. They have no reader in lua/lib/gates.lua: the ledger's scripts check each. */
const LANE_GATES = {
  'lane-busy': {
    means: 'Another request of the lane is under way, or the lane is reserved for one.',
    knownBy: 'ledger',
    scope: 'lane',
    manner: 'waits',
    lane: 'is due when that lease has ended and its delay is over; a lease that nobody ends is reaped, and then the quarantine is added',
    wakes: 'the script that ends the lease',
    reserve: reserved(true),
    grant: granted({ heldHop: BY_LEASE, further: 'the lease is its own: the request before it must have ended' }),
    send: sent(),
    underWay: none('the lease is its own'),
  },
  delay: {
    means:
      'The delay after the last request of the lane is not over, or has become longer since (rules, operator, policy, fleet).',
    knownBy: 'ledger',
    scope: 'lane',
    manner: 'waits',
    lane: 'is due when the delay is over',
    wakes: 'nobody: a delay that runs is never shortened',
    reserve: reserved(true),
    grant: granted(),
    send: none(PASSED),
    underWay: none(PASSED),
  },
  'pace-group': {
    means: 'The lane of the host or of a pace group is not free, or others wait before this request.',
    knownBy: 'ledger',
    scope: 'domain',
    manner: 'waits',
    lane: 'waits until its turn is likely to come, with its place in line',
    wakes: 'nobody: it comes again at the instant that it was given',
    reserve: reserved('its place in line is looked at when its lease is asked for'),
    grant: granted({
      heldHop: 'lanes that are held are not asked for again',
      further: 'lanes that are held are not asked for again',
    }),
    send: none(PASSED),
    underWay: none(PASSED),
  },
  'slots-full': {
    means: 'All fetch slots of the fleet, or all places of the pool, are taken.',
    knownBy: 'ledger',
    scope: 'fleet',
    manner: 'waits',
    lane: 'stays due',
    wakes: 'the gateway looks again after a few milliseconds',
    reserve: reserved(true, 'permits order few robots fetches, which fetchers take as slots become free'),
    grant: none('its order has a slot'),
    send: none('its order has a slot'),
    underWay: none('its order has a slot'),
  },
  expired: {
    means: 'The candidate has waited past its `expiresAt`, or its attempts are spent.',
    knownBy: 'ledger',
    scope: 'URL',
    manner: 'ends',
    lane: 'the URL leaves with its outcome: expired, with the gate that held it',
    wakes: 'every wait ends when the first URL in any list of the lane expires',
    reserve: reserved(true, 'a permit ends by its own waitMs'),
    grant: none('only a stored URL expires', { page: true, robots: true }),
    send: none('it was looked at half a second ago'),
    underWay: none(FINISHED),
  },
  'partitions-moved': {
    means: 'The number of partitions has been changed, or the ledger is of another version.',
    knownBy: 'ledger',
    scope: 'fleet',
    manner: 'ends',
    lane: 'has moved to another partition; the process ends and starts again',
    wakes: 'nobody',
    reserve: reserved(true),
    grant: granted(),
    send: sent(),
    underWay: none(AT_EACH_CALL, { page: true, permit: true, further: true }),
  },
} as const satisfies Record<string, GateRow & { knownBy: 'ledger' }>

const JUDGED = 'judged before the reservation is kept; the version of the rules says whether that still holds'

/** Gates that only a sender can judge: from a robots.txt, the address of a name, or the agents and egress of a process. */
const SENDER_GATES = {
  'robots-unreachable': {
    means: 'The rules of the origin are unknown or too old, and its robots.txt is unreachable.',
    knownBy: 'sender',
    scope: 'origin',
    manner: 'waits',
    lane: 'waits until the robots.txt is due to be fetched again or the first URL in any of its lists expires',
    wakes: 'the script that records a robots answer',
    reserve: reserved('it is judged between reservation and start', 'it is the robots fetch'),
    grant: none('it is a robots fetch, or no request of this origin', {
      page: true,
      permit: true,
      further: true,
      hop: true,
      heldHop: true,
    }),
    send: none(JUDGED),
    underWay: none(JUDGED),
  },
  'visit-time': {
    means: 'Visit-time of the robots.txt, where the profile of the agent obeys it.',
    knownBy: 'sender',
    scope: 'origin',
    manner: 'waits',
    lane: 'waits until the hours begin or the first URL in any of its lists expires',
    wakes: 'the script that records a robots answer',
    reserve: reserved('it is judged between reservation and start', 'robots.txt itself may be fetched at any hour'),
    grant: none('robots.txt itself may be fetched at any hour', { page: true, permit: true, further: true }),
    send: none('an order leaves room for its start and its connection'),
    underWay: none(FINISHED),
  },
  'stopped-address': {
    means: 'An emergency stop of the address that the name of the host resolves to.',
    knownBy: 'sender',
    scope: 'domain',
    manner: 'waits',
    lane: 'waits until the address is looked up again, after half a minute at most',
    wakes: 'nobody: the address is looked up again',
    reserve: reserved('the address is looked up by the sender'),
    grant: granted({ host: OWN_LANE, group: NO_SITE }),
    send: sent({ host: OWN_LANE, group: NO_SITE }),
    underWay: underWay(true),
  },
  'unknown-agent': {
    means: 'The process has no agent of that name.',
    knownBy: 'sender',
    scope: 'fleet',
    manner: 'waits',
    lane: 'waits for a process that knows the agent',
    wakes: 'nobody: the lane is looked at again',
    reserve: reserved('the gateway finds it when it judges the lane'),
    grant: none('its agent was found when it was asked for', { page: true, robots: true }),
    send: none(PASSED),
    underWay: none(PASSED),
  },
  egress: {
    means: 'The proxy or the local address that EGRESS names for the agent does not work.',
    knownBy: 'sender',
    scope: 'fleet',
    manner: 'waits',
    lane: 'waits until the egress is tried again',
    wakes: 'nobody: the lane is looked at again',
    reserve: reserved('the fetcher knows it'),
    grant: none('its sender has an egress of its own, or has just used this one', { page: true, robots: true }),
    send: none('the connection is made by then'),
    underWay: none('the connection is made by then'),
  },
  share: {
    means:
      'The crawl, the permit token or the domain holds its share of the slots of a fetcher, and others need the rest.',
    knownBy: 'sender',
    scope: 'fleet',
    manner: 'waits',
    lane: 'is looked at again after a second, and later the more orders are given back for this reason; for the URLs of other crawls after a tenth of a second',
    wakes: 'nobody: the lane is looked at again',
    reserve: reserved(
      'the fetcher finds it when an order asks for a slot',
      'permits look for themselves how many they order',
    ),
    grant: none('its order has a slot'),
    send: none('its order has a slot'),
    underWay: none('its order has a slot'),
  },
  pool: {
    means: 'No worker of the pool asks for orders, or all of them are busy.',
    knownBy: 'sender',
    scope: 'fleet',
    manner: 'waits',
    lane: 'is looked at again after growing intervals of half a minute at most; for the URLs of other crawls after a tenth of a second',
    wakes: 'nobody: the lane is looked at again',
    reserve: reserved('the gateway finds it when it makes the order'),
    grant: none('its worker is there', { page: true }),
    send: none('its worker is there'),
    underWay: none('its worker is there'),
  },
} as const satisfies Record<string, GateRow & { knownBy: 'sender' }>

export const GATE_TABLE = { ...LEDGER_GATES, ...LANE_GATES, ...SENDER_GATES } satisfies Record<string, GateRow>
export type GateName = keyof typeof GATE_TABLE
/** Gates with a reader in lua/lib/gates.lua. */
export const READ_GATES = Object.keys(LEDGER_GATES) as LedgerGate[]

export const cellOf = (gate: GateName, what: What, moment: Moment): Cell => (GATE_TABLE[gate] as GateRow)[moment][what]

/**
 * The gates that count for a request at a moment, in the order of the table.
 * @param table  tests only: a changed table
 */
export function gatesThatCount(
  what: What,
  moment: Moment,
  table: Record<LedgerGate, GateRow> = LEDGER_GATES,
): LedgerGate[] {
  return READ_GATES.filter((gate) => table[gate][moment][what] === true)
}
