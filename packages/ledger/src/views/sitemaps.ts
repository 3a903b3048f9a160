/** The sitemaps that the stored robots.txt of an origin names. Nothing is fetched. */

import { parseRobots } from '@decorum/robots'
import type { Ledger } from '../index.ts'
import type { OriginView } from './types.ts'

/** A limit, because a robots.txt may name tens of thousands of sitemaps. */
export const MAX_SITEMAPS = 1_000

/** @returns absolute URLs, without duplicates, in their order; undefined: no robots.txt is stored */
export async function sitemapsOf(
  ledger: Pick<Ledger, 'body' | 'partitionOf'>,
  { origin, state }: Pick<OriginView, 'origin' | 'state'>,
): Promise<string[] | undefined> {
  if (state.copy === undefined) return undefined
  const body = await ledger.body(ledger.partitionOf(origin), state.copy.hash)
  if (body === undefined) return undefined
  return [...new Set(parseRobots(body).sitemapsAt(origin))].slice(0, MAX_SITEMAPS)
}
