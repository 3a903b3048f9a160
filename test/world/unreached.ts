/** Cells and crash points that no run of the world reaches, each with its reason; everything else has to be reached in hours of runs. */
import { ALL_CELLS, ALL_POINTS, type Coverage } from './coverage.ts'

/** Reason → what has it: a crash point, or words of a cell (`gate what moment`), all of which a cell has to have. */
const EXCEPTIONS: Record<string, readonly string[]> = {
  'a process that knows another number of partitions ends, and names no cell (test/gateway/outdated, test/ledger/move)':
    ['partitions-moved'],
  'a stop of an address is reported as `stopped` (test/faults/emergency-stop)': ['stopped-address'],
  'a Visit-time is reported as `visiting-hours` (test/gateway/unit/decide)': ['visit-time'],
  'all processes know all agents, and have one way out (test/gateway, test/sending)': ['unknown-agent', 'egress'],
  'too few orders of a pool ask for a further request (test/permits/pools, test/ledger/model)': ['further'],
  'a lane whose pool has no worker is deferred by a resolution, which is counted as a grant': ['pool reserve'],
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
