/** `decorum crawl FILE|-`: starts its role processes before it loads its own modules. */
import type { CrawlOptions } from '../crawl/command.ts'
import { earlyFleet } from '../early-fleet.ts'
import type { ExitCode } from '../exit.ts'

export async function crawl(file: string | undefined, options: CrawlOptions): Promise<ExitCode> {
  const fleet = earlyFleet({ gateways: options.gateways, fetchers: options.fetchers })
  try {
    return await (await import('../crawl/command.ts')).crawlCommand(file, options, fleet)
  } finally {
    fleet.cancel()
  }
}
