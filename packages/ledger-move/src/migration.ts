/**
 * How stored names change from the layout before to this version's. No layout before this one was released, so there is no step yet
 * (docs/decisions/0021-upgrades.md). The change that raises LAYOUT.version writes it here, with lua/lib/lease-step.lua, and a fixture of
 * the layout before it stays in test/ledger/layouts.
 */
import type { Step } from './scripts.ts'

export type Migration = {
  /** layouts that this version can upgrade */
  from: readonly string[]
  to: string
  /** fields of an origin's hash: earlier name → name now */
  originFields: Readonly<Record<string, string>>
  /** names that a lane's record gives to the gate that holds it */
  gates: Readonly<Record<string, string>>
  counts: Readonly<Record<string, string>>
  /** keys of a partition, behind its tag */
  keys: Readonly<Record<string, string>>
  /** writes leases as they are stored now by lua/lib/lease-step.lua: upgradeScripts.putLeases */
  putLeases: Step<'next'>
}

export const MIGRATION: Migration | undefined = undefined
