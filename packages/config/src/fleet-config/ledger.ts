/** Opens the ledger for a role that takes part in requests: with its settings, and with the rates of the document in force. */

import { type Ledger, type LedgerOptions, openLedger } from '@decorum/ledger'
import type { SettingsOf } from '../index.ts'
import type { Joined } from './join.ts'

type Settings = Pick<SettingsOf<'fetcher'>, 'REDIS_URL' | 'DECORUM_PARTITIONS' | 'LEASE_MS' | 'QUARANTINE_MS'>

/** @throws as `openLedger` */
export async function openFleetLedger(
  { config, enforce }: Pick<Joined<Settings>, 'config' | 'enforce'>,
  log: { warn(sentence: string): void },
  options: Partial<LedgerOptions>,
): Promise<Ledger> {
  const ledger = await openLedger({
    redis: config.REDIS_URL,
    partitions: config.DECORUM_PARTITIONS,
    leaseMs: config.LEASE_MS,
    quarantineMs: config.QUARANTINE_MS,
    onNotice: (sentence) => log.warn(sentence),
    ...options,
  })
  for (const warning of ledger.warnings) log.warn(warning)
  await enforce(ledger)
  return ledger
}
