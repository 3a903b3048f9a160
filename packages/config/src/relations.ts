/** Relations between settings that must hold, whichever role reads them. */

/** A setting that a role does not read, or whose value is wrong, is absent. */
export type Related = {
  FETCH_DEADLINE_MS: number
  LEASE_MS: number
  DEFAULT_DELAY_MS: number
  MAX_DELAY_MS: number
  PAGE_SINK: string
  S3_ENDPOINT: string
  S3_BUCKET: string
}

/**
 * The broken relations between the given settings; a relation is skipped when one of its settings is absent.
 * @returns  one line each, which names both settings
 */
export function brokenRelations(c: Partial<Related>): string[] {
  const wrong: string[] = []
  if (isLess(c.LEASE_MS, c.FETCH_DEADLINE_MS) || isSame(c.LEASE_MS, c.FETCH_DEADLINE_MS))
    wrong.push(
      `FETCH_DEADLINE_MS: a fetch must end inside its lease, and ${c.FETCH_DEADLINE_MS} is not under LEASE_MS=${c.LEASE_MS}`,
    )
  if (isLess(c.MAX_DELAY_MS, c.DEFAULT_DELAY_MS))
    wrong.push(
      `DEFAULT_DELAY_MS: the default delay must not exceed the maximum, and ${c.DEFAULT_DELAY_MS} is above MAX_DELAY_MS=${c.MAX_DELAY_MS}`,
    )
  for (const name of ['S3_ENDPOINT', 'S3_BUCKET'] as const)
    if (c.PAGE_SINK === 's3' && name in c && (c[name] ?? '') === '') wrong.push(`${name}: PAGE_SINK=s3 needs it`)
  return wrong
}

const isLess = (a: number | undefined, b: number | undefined): boolean => a !== undefined && b !== undefined && a < b
const isSame = (a: number | undefined, b: number | undefined): boolean => a !== undefined && a === b
