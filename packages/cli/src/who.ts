/** The author and the reason that are recorded with a change. */
import { hostname, userInfo } from 'node:os'

/** The options of every command that changes something for the fleet. */
export type Accountable = { reason?: string; by?: string }

/** The name recorded with a change unless another one is given: the user and the machine. */
export function whoAmI(): string {
  try {
    return `${userInfo().username} on ${hostname()}`
  } catch {
    return `somebody on ${hostname()}` // the user of a container may have no name
  }
}

export const recorded = ({ reason = '', by = '' }: Accountable): { by: string; reason: string } => ({
  by: by.trim() || whoAmI(),
  reason: reason.trim(),
})
