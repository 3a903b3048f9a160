/** Cells and crash points that no run of the world reaches, each with its reason; everything else has to be reached in hours of runs. */
import { ALL_CELLS, ALL_POINTS, type Coverage } from './coverage.ts'

/**
 * Reason → what has it: a crash point, or words of a cell (`gate what moment`), all of which a cell has to have. Each cell of the ledger's gates is tried on the scripts by
 * test/ledger/gates.test.ts, those that are too seldom here, too.
 */
const EXCEPTIONS: Record<string, readonly string[]> = {
  'a process that knows another number of partitions ends, and names no cell (test/gateway/outdated, test/ledger/move)':
    ['partitions-moved'],
  'a stop of an address is reported as `stopped` (test/faults/emergency-stop)': ['stopped-address'],
  'a Visit-time is reported as `visiting-hours` (test/gateway/unit/decide)': ['visit-time'],
  'all processes know all agents, and have one way out (test/gateway, test/sending)': ['unknown-agent', 'egress'],
  'too few orders of a pool ask for a further request (test/permits/pools, test/ledger/model)': ['further'],
  'a lane whose pool has no worker is deferred by a resolution, which is counted as a grant': ['pool reserve'],
  'a lane of a host or a group, or one for a hop, that is not due is reported as `pace-group`': [
    'delay host',
    'delay group',
    'delay hop',
  ],
  'an order whose URL has expired is released, and names no gate (test/fetcher/orders)': ['expired grant'],
  'the sender of a hop ends it, and does not tell the ledger why (test/sending/robots/hop-rules)': [
    'robots-unreachable hop',
    'robots-unreachable heldHop',
  ],
  'no robots.txt leads to another port of its host': ['robots-in-flight heldHop'],
  'a lease outlasts the making of its connection nine times: only a Redis that has lost it says so': ['lane-busy send'],
  'seldom: a gate would have to close while a connection of that kind is made slowly': [
    'robots send',
    'hop send',
    'permit send',
    'host send',
    'group send',
  ],
  'seldom: a gate would have to close in the second between a robots.txt and the file that it leads to': [
    'startup-hold heldHop',
    'stopped heldHop',
    'paused heldHop',
    'back-off heldHop',
    'visiting-hours heldHop',
    'budget heldHop',
    'blocked heldHop',
  ],
  'seldom: a back-off closes while another request of its host is under way only by a report that comes late': [
    'back-off send',
    'back-off underWay',
  ],
  'seldom: a robots fetch is due once an hour, and the budget of the day or the ledger would have to end just then': [
    'budget robots grant',
    'budget permitRobots',
    'startup-hold robots grant',
  ],
  'seldom: whoever asks for more than its own lane asks for that first, so only a permit or a hop can find these closed':
    ['startup-hold host', 'startup-hold group', 'stopped group'],
}

const isMeant = (name: string, by: string): boolean => {
  const words = name.split(' ')
  return by.split(' ').every((word) => words.includes(word))
}
const isExcepted = (name: string): boolean =>
  Object.values(EXCEPTIONS).some((all) => all.some((by) => isMeant(name, by)))

/** What should have been reached, and was not. */
export const unreachedOf = ({ cells, points }: Coverage): string[] => [
  ...ALL_CELLS.filter((cell) => !cells.has(cell) && !isExcepted(cell)),
  ...ALL_POINTS.filter((point) => !points.has(point) && !isExcepted(point)),
]
