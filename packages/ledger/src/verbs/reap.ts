/** reap: ends expired leases. */
import { REAPED_FETCH } from '../calls.ts'
import { readLaneName } from '../layout.ts'
import { readState } from '../records/state-text.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { Reaped } from '../types.ts'

export async function reap(scripts: Scripts, { quarantineMs }: Pick<VerbSettings, 'quarantineMs'>): Promise<Reaped> {
  const { values } = await scripts.call('reap', { quarantineMs })
  const [started, reserved, more, ...fetches] = values
  const robotsFetches: Reaped['robotsFetches'] = []
  for (let at = 0; at < fetches.length; at += REAPED_FETCH.at.size) {
    const { lane, fence, version, state } = REAPED_FETCH.read(fetches, at)
    robotsFetches.push({
      ...readLaneName(lane),
      fence: Number(fence),
      version: Number(version),
      state: readState(state),
    })
  }
  const counted = { started: Number(started), unstarted: Number(reserved), robotsFetches }
  return more === '1' ? { ...counted, more: true } : counted
}
