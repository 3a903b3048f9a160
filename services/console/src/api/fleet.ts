/** The running processes, and the configuration they have agreed on. */

import { readCurrent, readHistory, type Version } from '@decorum/config/fleet-config'
import { type Member, withDeadline } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'
import type { ApiParts } from './parts.ts'

/** If Redis does not answer within this time, it counts as unavailable, ms. */
const deadline = { clock: systemClock, ms: 2_000 }

export async function viewFleet({
  ledger,
  redis,
}: Pick<ApiParts, 'ledger' | 'redis'>): Promise<{ config: number; members: Member[] }> {
  const current = withDeadline(readCurrent(redis), deadline, 'config')
  const [members, version] = await Promise.all([ledger.members(), current])
  return { config: version?.version ?? 0, members: members.toSorted((a, b) => byName(a).localeCompare(byName(b))) }
}

const byName = ({ role, about, id }: Member): string => `${role} ${about?.host ?? ''} ${id}`

/** `history`: newest first */
export async function viewConfiguration({
  redis,
}: Pick<ApiParts, 'redis'>): Promise<{ current?: Version; history: Version[] }> {
  const reading = Promise.all([readCurrent(redis), readHistory(redis)])
  const [current, history] = await withDeadline(reading, deadline, 'config')
  return { ...(current === undefined ? {} : { current }), history }
}
