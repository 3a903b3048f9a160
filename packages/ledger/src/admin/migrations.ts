/**
 * How each stored name changed from one layout to the next, for released layouts. A layout that is raised adds an entry
 * here, and a fixture of the layout before it stays in test/ledger/layouts (docs/decisions/0021-upgrades.md).
 */
import { FIELD, GATE, KEY, KIND, LEASE } from '../layout.ts'

export type Migration = {
  from: string
  to: string
  /** fields of an origin's hash: earlier name → name now */
  originFields: Readonly<Record<string, string>>
  /** names that a lane's record gives to the gate that holds it */
  gates: Readonly<Record<string, string>>
  counts: Readonly<Record<string, string>>
  /** keys of a partition, behind its tag */
  keys: Readonly<Record<string, string>>
  /** Lua: the lease as it is stored now, from `record`, which is the earlier one */
  lease: string
}

/** Layout 2 is that of 0.1.0: short names, -1 for numbers that are missing, and the turns of a secondary lease in place of its version. */
const fromTwo: Migration = {
  from: '2',
  to: '3',
  originFields: {
    se: FIELD.robotsStateEnds,
    q: FIELD.fetchFence,
    u: FIELD.fetchUntil,
    bu: FIELD.backOffUntil,
    bf: FIELD.incidents,
    nf: FIELD.failures,
    pu: FIELD.pausedUntil,
    pr: FIELD.pauseReason,
    ku: FIELD.blockedUntil,
    kr: FIELD.blockReason,
    og: FIELD.overrideDelay,
    oe: FIELD.overrideUntil,
    or: FIELD.overrideReason,
    rf: FIELD.refetchVersion,
  },
  gates: { 'robots-being-asked': GATE.robotsInFlight },
  counts: {
    'stale-begin': 'stale-start',
    'stale-settle': 'stale-complete',
    'stale-learn': 'stale-record',
    'reaped-unbegun': 'reaped-reserved',
    'reaped-unstarted': 'reaped-reserved',
  },
  keys: { visits: KEY.secondary },
  lease: `
local fence, list, kind, failures, version, notBefore, startedAt, delay, least, ends = struct.unpack('<sssssddddd', record)
local turnsAhead = 0
if kind == 'clock' then kind = '${KIND.paceGroup}' end
if kind == '${KIND.paceGroup}' or kind == '${KIND.hop}' then 
  turnsAhead, version = tonumber(version) or 0, ''
  if notBefore == 0 then notBefore = startedAt end
end
return struct.pack('${LEASE.format}', fence, list, kind, failures, version, notBefore, math.max(startedAt, 0), math.max(delay, 0),
  math.max(least, 0), math.max(ends, 0), turnsAhead)`,
}

export const MIGRATIONS: readonly Migration[] = [fromTwo]
