/** `decorum status`: prints the state of the fleet, as the sentence at the top of the console, and the readers that lag. */
import { type FleetStatus, fleetStatus } from '@decorum/console/status'
import { DEFAULT_CRAWL, printable } from '@decorum/protocol'
import { withFleetLedger } from '../fleet-ledger.ts'
import { some } from '../say.ts'
import { printResult } from '../terminal.ts'

export function status({ json }: { json?: boolean }): Promise<void> {
  return withFleetLedger(async ({ ledger, outcomesLimit }) => {
    const { headline, totals, readers } = await fleetStatus(ledger, outcomesLimit)
    const lines = readersBehind(readers).map((line) => `  ${line}`)
    const text = [headline.title, headline.sentence, ...lines].join('\n')
    printResult(json, { ...headline, ...totals, readers }, text)
  })
}

/** A sentence for each reader with unread outcomes. */
export const readersBehind = (readers: FleetStatus['readers']): string[] =>
  readers
    .filter(({ lag, pending }) => lag + pending > 0)
    .map(({ crawl, group, lag, pending }) => {
      const ofCrawl = crawl === DEFAULT_CRAWL ? '' : ` of the crawl '${crawl}'`
      return `reader '${printable(group)}'${ofCrawl}: ${some(lag + pending, 'unread outcome')}`
    })
