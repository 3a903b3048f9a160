/**
 * Changes a whole ledger while its fleet stands still: the number of its partitions, or its layout. Commands alone load this. Start at
 * `repartition` (repartition.ts); layout-moves.ts of the ledger says what becomes of each key. `upgrade` (upgrade.ts) is the other one.
 */
export { type Repartitioned, type RepartitionOptions, type RepartitionProgress, repartition } from './repartition.ts'
export { canUpgradeAlone, layoutsOf, type Upgraded, type UpgradeOptions, upgrade } from './upgrade.ts'
