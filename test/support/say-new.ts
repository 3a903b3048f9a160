import { announceNew, linkTo } from '@decorum/ledger'

/** Vouches that what REDIS_URL names has never held a ledger, so that nothing is held at its start. */
export async function printNew(url: string): Promise<void> {
  const link = linkTo(url, { away: 'wait' })
  await announceNew(link).finally(() => link.disconnect())
}
