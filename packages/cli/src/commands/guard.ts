/** `decorum guard -- COMMAND …`: its role processes load their modules while the rest of the command loads. */
import { earlyFleet } from '../early-fleet.ts'
import type { GuardOptions } from '../guard/command.ts'

/** @returns the exit code of the command */
export async function guard(command: string[], options: GuardOptions): Promise<number> {
  const fleet = earlyFleet({ gateways: 0, fetchers: 1, proxies: 1 })
  try {
    const { guardCommand } = await import('../guard/command.ts')
    return await guardCommand(command, options, fleet)
  } finally {
    fleet.cancel()
  }
}
