/**
 * Changes a whole ledger while its fleet stands still: the number of its partitions, or its layout. Only commands load this. Start at
 * `repartition` (repartition.ts); layout-moves.ts of the ledger says how each key moves. `upgrade` (upgrade.ts) changes the layout.
 */
export { type Repartitioned, type RepartitionOptions, type RepartitionProgress, repartition } from './repartition.ts'
export { canUpgradeAlone, layoutsOf, type Upgraded, type UpgradeOptions, upgrade } from './upgrade.ts'
