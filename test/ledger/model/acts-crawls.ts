/** What operators do to crawls, and what a gateway ends of one that was cancelled. */
import { type CrawlRecord, USUAL } from '@decorum/ledger'
import { readLaneName, writePending } from '@decorum/ledger/testing'
import { type Act, caller, LANES, optional, outcomeOf, same, unlessInDoubt } from './play.ts'
import * as rules from './rules.ts'

export const setCrawl: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const name = dice.pick(rules.CRAWLS)
  const known = play.model.crawls.get(name)?.version ?? 0
  const version = dice(8) === 7 ? known : known + 1
  const [weight, held] = [dice.pick([1, 1, 3, 2]), dice(3) === 2]
  const stored = name !== 'default' && dice(4) === 3 ? 2 + dice(3) : undefined
  const record: CrawlRecord = {
    ...USUAL,
    version,
    weight,
    state: held ? dice.pick(['paused', 'cancelled']) : 'running',
    limits: { stored },
  }
  const real = version === 0 ? { kind: 'kept' } : await process.verbs.crawl(name, record)
  const set = { version, weight, held, ...optional('stored', stored) }
  same('crawl', real.kind, version === 0 ? 'kept' : rules.setCrawl(play.model, call, name, set))
}

/** Some URLs of one list, as the sweep of a crawl that is over takes them; now and then one that is not there. */
export const cancel: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const [lane, list] = [dice.pick(LANES), rules.listIn(dice(3) === 2 ? 'h' : 'q', dice.pick(rules.CRAWLS))]
  const stored = play.model.lanes.get(lane)
  const urls = stored === undefined ? [] : rules.urlsIn(stored, list).slice(dice(2), 1 + dice(4))
  const asked = dice(6) === 5 ? [...urls, { id: 'nowhere', expiresAt: 9_000_000_000_000 }] : urls
  if (asked.length === 0) return
  const crawl = rules.crawlOf(list)
  const real = await unlessInDoubt(
    process.verbs.cancel(
      { ...readLaneName(lane), list },
      asked.map(({ id, expiresAt }) => ({
        entry: writePending({ id, path: '/', expiresAt, hops: 0, priority: 'normal' }),
        outcome: outcomeOf(id, 'refused', crawl),
      })),
    ),
  )
  same('cancel', real, rules.cancel(play.model, call, lane, list, asked))
}
