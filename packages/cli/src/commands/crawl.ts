/** `decorum crawl FILE|-`: starts its role processes before it loads its own modules. */
import type { CrawlOptions } from '../crawl/command.ts'
import { withEarlyFleet } from '../early-fleet.ts'
import type { ExitCode } from '../exit.ts'

export const crawl = (file: string | undefined, options: CrawlOptions): Promise<ExitCode> =>
  withEarlyFleet({ gateways: options.gateways, fetchers: options.fetchers }, async (fleet) =>
    (await import('../crawl/command.ts')).crawlCommand(file, options, fleet),
  )
