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
  const { LEASE_MS = Infinity, FETCH_DEADLINE_MS = 0, MAX_DELAY_MS = Infinity, DEFAULT_DELAY_MS = 0 } = c
  const wrong: string[] = []
  if (LEASE_MS <= FETCH_DEADLINE_MS)
    wrong.push(
      `FETCH_DEADLINE_MS: a fetch must end inside its lease, and ${FETCH_DEADLINE_MS} is not under LEASE_MS=${LEASE_MS}`,
    )
  if (MAX_DELAY_MS < DEFAULT_DELAY_MS)
    wrong.push(
      `DEFAULT_DELAY_MS: the default delay must not exceed the maximum, and ${DEFAULT_DELAY_MS} is above MAX_DELAY_MS=${MAX_DELAY_MS}`,
    )
  for (const name of ['S3_ENDPOINT', 'S3_BUCKET'] as const)
    if (c.PAGE_SINK === 's3' && name in c && (c[name] ?? '') === '') wrong.push(`${name}: PAGE_SINK=s3 needs it`)
  return wrong
}
