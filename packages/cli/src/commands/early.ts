/** `decorum crawl` and `decorum guard` start their role processes before they load their own modules. */
import type { CrawlOptions } from '../crawl/command.ts'
import { withEarlyFleet } from '../early-fleet.ts'
import type { GuardOptions } from '../guard/command.ts'

export const crawl = (file: string | undefined, options: CrawlOptions) =>
  withEarlyFleet({ gateways: options.gateways, fetchers: options.fetchers }, async (fleet) =>
    (await import('../crawl/command.ts')).crawlCommand(file, options, fleet),
  )

export const guard = (command: string[], options: GuardOptions) =>
  withEarlyFleet({ gateways: 0, fetchers: 1, proxies: 1 }, async (fleet) =>
    (await import('../guard/command.ts')).guardCommand(command, options, fleet),
  )
