/** `decorum origin sitemaps ORIGIN`: prints or enqueues the URLs in the sitemaps of an origin. */
import { type Candidate, openFrontier } from '@decorum/client'
import { openLedgerWithViews, sitemapsOf } from '@decorum/ledger/views'
import { printable, readUrl } from '@decorum/protocol'
import { agreedEnv } from '../agreed-settings.ts'
import { DONE, type ExitCode, FAILED, STOPPED, UsageError } from '../exit.ts'
import { catchInterrupt } from '../interrupt.ts'
import { runningRedis } from '../running-redis.ts'
import { readCliSettings } from '../settings.ts'
import { type FoundUrl, type Walked, walkSitemaps } from '../sitemaps/walk.ts'
import { jsonLine, tell, tellJson, warn, writeLines } from '../terminal.ts'
import { agentNamed } from './enqueue.ts'

export type SitemapsOptions = { agent?: string; enqueue?: boolean; most: number; maxSitemaps: number; json?: boolean }

/** Exit code 3 when a limit was reached or it was interrupted, 1 when no sitemap could be read. */
export async function sitemaps(text: string, options: SitemapsOptions): Promise<ExitCode> {
  const at = readUrl(text)
  if ('refused' in at)
    throw new UsageError(`'${printable(text)}' is no origin: ${at.refused}; write http(s)://host[:port]`)
  const { origin } = at
  const settings = readCliSettings(await agreedEnv(process.env))
  const agent = agentNamed(settings.agents, options.agent)
  const redis = await runningRedis(settings, process.env)
  const { partitions, leaseMs, quarantineMs } = settings
  const ledger = await openLedgerWithViews({ redis, partitions, leaseMs, quarantineMs })
  const token = process.env.CONTENT_TOKEN?.trim()
  const frontier = await openFrontier({ redis, content: token ? { token } : {} })
  const interrupt = catchInterrupt(() => process.exit(1))
  interrupt.signal.addEventListener('abort', () => void frontier.close())
  let walked: Walked | undefined
  const found = (async function* (): AsyncGenerator<FoundUrl> {
    walked = yield* walkSitemaps(frontier, {
      origin,
      agent,
      most: options.most,
      maxSitemaps: options.maxSitemaps,
      named: async () => sitemapsOf(ledger, await ledger.viewOrigin(origin, [])),
      warn: (sentence) => warn(printable(sentence)),
    })
  })()
  try {
    if (options.enqueue) await frontier.enqueue(candidatesOf(found, agent))
    else for await (const one of found) await writeLines(options.json ? jsonLine(one) : `${one.url}\n`)
    if (walked === undefined || interrupt.signal.aborted) return STOPPED
    if (options.enqueue) {
      if (options.json) tellJson({ enqueued: walked.urls, ...walked })
      else tell(`${walked.urls} enqueued`)
    }
    if (walked.skipped > 0) warn(`${walked.skipped} URLs of other hosts were left out`)
    if (walked.cut) warn('there is more than that: --most, --max-sitemaps')
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
  for await (const { url, sitemap } of found)
    yield { url, meta: { sitemap }, ...(agent === undefined ? {} : { agent }) }
}
