/** Cells and crash points that no run of the world reaches, each with its reason; everything else has to be reached in hours of runs. */
import { ALL_CELLS, ALL_POINTS, type Coverage } from './coverage.ts'

/** Reason → what has it: a crash point, or words of a cell (`gate what moment`), all of which a cell has to have. */
const EXCEPTIONS: Record<string, readonly string[]> = {
  'the world has one partition (test/cluster, test/ledger/upgrade)': ['partitions-moved'],
  'no name is looked up: all sites have one (test/permits, test/faults/emergency-stop)': ['stopped-address'],
  'all processes know all agents, and have one way out (test/gateway, test/sending)': ['unknown-agent', 'egress'],
  'no agent has a pool (test/permits/pools, test/ledger/model)': ['pool', 'further'],
  'hosts alone share a pace (test/ledger/gates, test/storm)': ['group', 'pace-group.acquired'],
  'no robots.txt has a Visit-time (test/politeness)': ['visit-time'],
  'no fetch slots are scarce (test/gateway/shares)': ['share', 'slots-full'],
  'URLs live for longer than a run (test/ledger/model, test/gateway)': ['expired'],
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
