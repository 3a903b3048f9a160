/** `decorum guard -- COMMAND …`: its role processes load their modules while the rest of the command loads. */
import { withEarlyFleet } from '../early-fleet.ts'
import type { GuardOptions } from '../guard/command.ts'

/** @returns the exit code of the command */
export const guard = (command: string[], options: GuardOptions): Promise<number> =>
  withEarlyFleet({ gateways: 0, fetchers: 1, proxies: 1 }, async (fleet) =>
    (await import('../guard/command.ts')).guardCommand(command, options, fleet),
  )
