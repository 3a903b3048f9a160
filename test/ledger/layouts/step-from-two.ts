/**
 * The step from layout 2 to 3, which no release has: by it the tests show what an upgrade keeps, until this version's own layout has a
 * step (packages/ledger-move/src/migration.ts).
 */
import { FIELD, GATE, KEY, libraryOf } from '@decorum/ledger/testing'
import { LUA, type Migration } from '@decorum/ledger-move/testing'

const lua = libraryOf({ folder: new URL('./lua/', import.meta.url), base: LUA })

/** Layout 2 had short names, -1 for numbers that are missing, and the turns of a secondary lease in place of its version. */
export const fromTwo: Migration = {
  from: ['2'],
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
  putLeases: lua.script('upgrade/put-leases', ['change', 'next']),
}
