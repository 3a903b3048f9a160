/**
 * Failures of a robots fetch that concern the address and not the site. They end URLs until the next robots fetch is due
 * (docs/spec/robots.md §6): at once when the address guard refuses the origin; when its host name does not exist, after as many tries as
 * a URL has.
 */
import type { FailureReason } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'

export function deadOrigin(
  state: RobotsState,
  maxAttempts: number,
): { reason: FailureReason; detail: string } | undefined {
  const reason = state.answer?.reason
  if (reason === 'blocked-address') return { reason, detail: 'the address of this origin is not public' }
  if (reason === 'blocked-port') return { reason, detail: 'the port of this origin belongs to another protocol' }
  if (reason === 'nxdomain' && failuresInARow(state) >= maxAttempts)
    return { reason: 'dns', detail: 'the host name does not exist' }
  return undefined
}

/** Number of consecutive answers of the latest kind. */
function failuresInARow(state: RobotsState): number {
  const others = Object.entries(state.heard ?? {}).filter(([kind]) => kind !== state.answer?.kind)
  const since = others.map(([, heard]) => heard.since)
  return since.length === 0 ? (state.first?.count ?? 0) : Math.min(...since)
}
