/**
 * Makes the functions of lua/lib/gates.lua when the scripts are loaded: one for each kind of request and moment that a script uses. Each
 * calls the readers of the gates that count, one after the other. Nothing is interpreted at run time.
 */
import {
  GATE_TABLE,
  type GateRow,
  gatesThatCount,
  type LedgerGate,
  MOMENTS,
  type Moment,
  READ_GATES,
  WHATS,
  type What,
} from '@decorum/protocol/gates'
import type { Verbatim } from './layout.ts'

export type GateTable = Record<LedgerGate, GateRow>

/** A function that a script uses: `GATES.pageGrant`, or `GATES.pageGrantEach`. */
type GateFunction = { name: string; what: What; moment: Moment; each: boolean }
const capital = (text: string): string => text[0]?.toUpperCase() + text.slice(1)
const ALL_FUNCTIONS: GateFunction[] = (Object.keys(WHATS) as What[]).flatMap((what) =>
  (Object.keys(MOMENTS) as Moment[]).flatMap((moment) =>
    [false, true].map((each) => ({ name: `${what}${capital(moment)}${each ? 'Each' : ''}`, what, moment, each })),
  ),
)
/** Replaces `GATES.…` in a script by the name of a local function. */
export const GATES: Record<string, Verbatim> = Object.fromEntries(
  ALL_FUNCTIONS.map(({ name }) => [name, { lua: `gates_${name}` }]),
)

/** A reader in lua/lib/gates.lua: `--- @reader name when guard = expression`. */
const READER = /^--- @reader ([\w-]+)(?: when (.+?))? = (.+)$/gm
type Reader = { guard: string | undefined; expression: string }

/**
 * @param text  lua/lib/gates.lua, with its names replaced
 * @throws Error  for a gate without a reader, or a reader without a gate
 */
export function readersOf(text: string): Map<LedgerGate, Reader> {
  const readers = new Map<LedgerGate, Reader>()
  for (const [, name, guard, expression = ''] of text.matchAll(READER)) {
    if (!READ_GATES.includes(name as LedgerGate))
      throw new Error(`lua/lib/gates.lua reads '${name}', which is no gate of the table`)
    readers.set(name as LedgerGate, { guard, expression })
  }
  const missing = READ_GATES.filter((gate) => !readers.has(gate))
  if (missing.length > 0) throw new Error(`lua/lib/gates.lua has no reader of ${missing.join(', ')}`)
  return readers
}

/**
 * @param script  the rest of the script, with its names replaced
 * @param table   tests only: a changed table
 */
export function gateFunctions(script: string, readers: Map<LedgerGate, Reader>, table: GateTable = GATE_TABLE): string {
  checkTable(table)
  const wanted = new Set(script.match(/\bgates_\w+/g))
  return ALL_FUNCTIONS.filter(({ name }) => wanted.has(`gates_${name}`))
    .map((one) => functionText(one, readers, table))
    .join('\n')
}

const PARAMETERS = 'lane, o, version, judged, fence, list'

function functionText(
  { name, what, moment, each }: GateFunction,
  readers: Map<LedgerGate, Reader>,
  table: GateTable,
): string {
  const gates = gatesThatCount(what, moment, table)
  const of = (manner: GateRow['manner']): LedgerGate[] => gates.filter((gate) => table[gate].manner === manner)
  const test = (gate: LedgerGate, act: (expression: string) => string): string => {
    const { guard, expression } = readers.get(gate) as Reader
    return guard === undefined ? `  ${act(expression)}` : `  if ${guard} then ${act(expression)} end`
  }
  if (each) {
    const waits = [...of('ends'), ...of('waits')].map((gate) =>
      test(gate, (at) => `t = ${at} if t > now then out[#out + 1] = '${gate}' out[#out + 1] = t end`),
    )
    const again = of('again').map((gate) =>
      test(gate, (is) => `if ${is} then out[#out + 1] = '${gate}' out[#out + 1] = now end`),
    )
    return [
      `local function gates_${name}(${PARAMETERS})`,
      '  local out, t = {}, 0',
      ...waits,
      ...again,
      '  return out',
      'end',
    ].join('\n')
  }
  return [
    `local function gates_${name}(${PARAMETERS})`,
    '  local till, gate, t = now, nil, 0',
    ...of('ends').map((gate) => test(gate, (at) => `t = ${at} if t > now then return '${gate}', t end`)),
    ...of('waits').map((gate) => test(gate, (at) => `t = ${at} if t > till then till, gate = t, '${gate}' end`)),
    '  if gate then return gate, till end',
    ...of('again').map((gate) => test(gate, (is) => `if ${is} then return '${gate}', now end`)),
    'end',
  ].join('\n')
}

/** @throws Error  for a cell that is neither `true` nor a text */
function checkTable(table: GateTable): void {
  for (const gate of READ_GATES)
    for (const moment of Object.keys(MOMENTS) as Moment[])
      for (const what of Object.keys(WHATS) as What[]) {
        const cell = table[gate]?.[moment]?.[what]
        if (cell !== true && (typeof cell !== 'string' || cell === ''))
          throw new Error(`the table of gates has no answer for ${gate} × ${what} × ${moment}`)
      }
}

/** Fields of an origin or a crawl that decide a gate or a delay: only lua/lib/gates.lua and the parts beside it read them. */
const JUDGED_FIELDS = [
  ...[
    'FIELD.version',
    'FIELD.allOpen',
    'FIELD.fetchFence',
    'FIELD.fetchUntil',
    'FIELD.backOffUntil',
    'FIELD.pausedUntil',
  ],
  ...['FIELD.hostPausedUntil', 'FIELD.blockedUntil', 'FIELD.refetchVersion', 'FIELD.failures', 'FIELD.overrideDelay'],
  ...[
    'FIELD.overrideUntil',
    'CRAWL.held',
    'KEY.stops',
    'KEY.requests',
    'EPOCH.stops',
    'EPOCH.policies',
    'EPOCH.leastDelays',
  ],
]
const READ_CALL = /call\('(?:HGET|HMGET|HEXISTS|HVALS|HGETALL)'((?:[^()]|\([^()]*\))*)\)/g
/** lib/epoch reads the epoch's record at the beginning of each call, and view shows what is stored. */
const MAY_READ = new Set(['lib/gates', 'lib/epoch', 'lib/view'])

/**
 * @param file  below lua/, such as `verbs/start`
 * @throws Error  for a gate's field that is read outside of lib/gates
 */
export function refuseOtherReaders(file: string, text: string): void {
  if (MAY_READ.has(file) || file.startsWith('gates/')) return
  for (const [, read = ''] of text.matchAll(READ_CALL)) {
    const field = JUDGED_FIELDS.find((name) => new RegExp(`\\b${name.replace('.', '\\.')}\\b`).test(read))
    if (field !== undefined) throw new Error(`lua/${file}.lua reads ${field}: only lua/lib/gates.lua may; use it`)
  }
}
