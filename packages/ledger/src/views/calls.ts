/** How TypeScript and the scripts of this folder exchange data, as calls.ts of the ledger does for its verbs. */
import { type Arg, argsInOrder, LEDGER_LUA, libraryOf, type Reply, row, type Scripts } from '../stored.ts'

/** The arguments of every verb, explained by its script: in lua/verbs of this folder; for `operate` in lua/verbs of the ledger. */
export const ARGS = {
  operate: ['origin', 'action', 'value', 'till', 'by', 'reason'],
  'view-origin': ['origin'],
  'view-lanes': ['order', 'skip', 'limit'],
  'view-partition': [],
  'view-closed': ['gate', 'skip', 'limit', 'domain'],
  'scan-lanes': ['cursor', 'skip', 'name', 'limit'],
} as const satisfies Record<string, readonly string[]>
export type ViewVerb = keyof typeof ARGS
export const VIEW_VERBS = Object.keys(ARGS) as ViewVerb[]

export const LANE_ROW = row('lane', 'pending', 'due', 'lease', 'attempts', 'heldBy', 'head', 'list', 'closed')
export const PARTITION_ROW = row('holdUntil', 'due', 'withoutLease', 'inFlight', 'unread', 'nextDue')

export const VIEW_LUA = libraryOf({
  folder: new URL('./lua/', import.meta.url),
  constants: { LANE_ROW: LANE_ROW.at, PARTITION_ROW: PARTITION_ROW.at },
  base: LEDGER_LUA,
})

/** @param items  arguments behind those that every call of the verb has */
export const callView = <V extends ViewVerb>(
  scripts: Scripts,
  verb: V,
  args: Record<(typeof ARGS)[V][number], Arg>,
  items: readonly Arg[] = [],
): Promise<Reply> => scripts.send(verb, [...argsInOrder(ARGS[verb], args), ...items])
