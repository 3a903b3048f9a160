/** `decorum origin sitemaps ORIGIN`: prints or enqueues the URLs in the sitemaps of an origin. */
import { type Candidate, openFrontier } from '@decorum/client'
import { openLedgerWithViews, sitemapsOf } from '@decorum/ledger/views'
import { printable } from '@decorum/protocol'
import { defined } from '@decorum/runtime/defined'
import { agreedSettings } from '../agreed-settings.ts'
import { DONE, type ExitCode, FAILED, STOPPED } from '../exit.ts'
import { catchInterrupt } from '../interrupt.ts'
import { runningRedis } from '../running-redis.ts'
import { some } from '../say.ts'
import { type FoundUrl, type Walked, walkSitemaps } from '../sitemaps/walk.ts'
import { jsonLine, printResult, warn, writeLines } from '../terminal.ts'
import { agentNamed, readTarget } from '../typed.ts'

export type SitemapsOptions = { agent?: string; enqueue?: boolean; most: number; maxSitemaps: number; json?: boolean }

/** Exit code 3 when a limit was reached or it was interrupted, 1 when no sitemap could be read. */
export async function sitemaps(text: string, options: SitemapsOptions): Promise<ExitCode> {
  const { origin } = readTarget(text)
  const { agent, most, maxSitemaps } = options
  const settings = await agreedSettings()
  agentNamed(settings.agents, agent)
  const redis = await runningRedis()
  const ledger = await openLedgerWithViews({ ...settings, redis })
  const token = process.env.CONTENT_TOKEN?.trim()
  const frontier = await openFrontier({ redis, content: token ? { token } : {} })
  const interrupt = catchInterrupt(() => process.exit(1))
  interrupt.signal.addEventListener('abort', () => void frontier.close())
  let walked: Walked | undefined
  const found = (async function* (): AsyncGenerator<FoundUrl> {
    walked = yield* walkSitemaps(frontier, {
      origin,
      agent,
      most,
      maxSitemaps,
      named: async () => sitemapsOf(ledger, await ledger.viewOrigin(origin, [])),
      warn: (sentence) => warn(printable(sentence)),
    })
  })()
  try {
    if (options.enqueue) await frontier.enqueue(candidatesOf(found, agent))
    else for await (const one of found) await writeLines(options.json ? jsonLine(one) : `${one.url}\n`)
    if (walked === undefined || interrupt.signal.aborted) return STOPPED
    if (options.enqueue) printResult(options.json, { enqueued: walked.urls, ...walked }, `${walked.urls} enqueued`)
    if (walked.skipped > 0) warn(`${some(walked.skipped, 'URL')} of other hosts left out`)
    if (walked.cut) warn('there are more URLs: --most and --max-sitemaps are the limits')
    if (walked.cut) return STOPPED
    if (walked.sitemaps > 0) return DONE
    warn(`no sitemap of ${origin} could be read`)
    return FAILED
  } finally {
    interrupt.release()
    await frontier.close()
    await ledger.close()
  }
}

async function* candidatesOf(found: AsyncIterable<FoundUrl>, agent: string | undefined): AsyncGenerator<Candidate> {
  for await (const { url, sitemap } of found) yield { url, meta: { sitemap }, ...defined({ agent }) }
}
