/**
 * The step from layouts 3 and 4 (that of a ledger with crawls) to this version's 5 and 6. Leases say whose request they are and when it may be
 * sent (lua/lib/lease-step.lua). Least delays have a form of their own now and are dropped: gateways write them again. The hash `ended`
 * begins empty. Fixtures of the layouts before are in test/ledger/layouts.
 */
import { LAYOUT } from '@decorum/ledger/stored'
import { type Step, upgradeScripts } from './scripts.ts'

export type Migration = {
  /** layouts that this version can upgrade */
  from: readonly string[]
  to: string
  /** fields of an origin's hash: earlier name → name now */
  originFields: Readonly<Record<string, string>>
  /** names that a lane's record gives to the gate that holds it */
  gates: Readonly<Record<string, string>>
  /** gates whose lanes have joined the set `closed` */
  held: readonly string[]
  counts: Readonly<Record<string, string>>
  /** keys of a partition, behind its tag */
  keys: Readonly<Record<string, string>>
  /** writes leases as they are stored now by lua/lib/lease-step.lua: upgradeScripts.putLeases */
  putLeases: Step<'next'>
}

export const MIGRATION: Migration | undefined = {
  from: ['3', '4'],
  to: LAYOUT.version,
  originFields: {},
  gates: {},
  held: ['paused'],
  counts: {},
  keys: {},
  putLeases: upgradeScripts.putLeases,
}
