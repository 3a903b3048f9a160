/**
 * Bugs that one could have written. Each breaks one rule of the scripts: `--[[rule:name]] code --[[end]]` marks the code that keeps
 * the rule, and a mutant puts other code there. README.md says how to add one.
 */
import { conditionsOf, HELD_EVENTS, lifeFunctions } from '@decorum/ledger/testing'
import { GATE_TABLE, READ_GATES } from '@decorum/protocol/gates'
import type { Redis } from 'ioredis'
import { ALL_VERBS, defineAll, readAnyPart, textOf } from './scripts.ts'

export type Mutant = {
  name: string
  rule: string
  put: string
  /** looked for in runs with several crawls */
  crawls: boolean
}

/** `reader:` and a gate as a rule: its reader in lua/lib/gates.lua, which then finds the gate open. */
const READER = /^(--- @reader ([\w-]+)(?: when .+?)? = ).+$/gm
const readerRule = (gate: string): string => `reader:${gate}`
/** `life:` and an event as a rule: the condition under which it may befall a lease (packages/ledger/src/lease-life.ts). */
const LIFE = /^--- @life$/m
const lifeRule = (event: string): string => `life:${event}`
const lifeWith = (rule: string, put: string): string =>
  lifeFunctions().replace(/^(local function life_(\w+)\(.*?\) return ).*( end)$/gm, (line, head, event, end) =>
    lifeRule(event) === rule ? head + put + end : line,
  )
const RULE = /--\[\[rule:([\w-]+)\]\]([\s\S]*?)--\[\[end\]\]/g

/** A part of the scripts, with one rule broken where it has that. @param note  is called for each place */
export function brokenText(part: string, { rule, put }: Pick<Mutant, 'rule' | 'put'>, note: () => void): string {
  const text = part.replace(RULE, (marked: string, found: string) => {
    if (found !== rule) return marked
    note()
    return ` ${put} `
  })
  if (rule.startsWith('life:') && LIFE.test(text)) {
    note()
    return text.replace(LIFE, lifeWith(rule, put))
  }
  return text.replace(READER, (line: string, head: string, gate: string) => {
    if (readerRule(gate) !== rule) return line
    note()
    return head + put
  })
}

/**
 * Teaches a connection the verbs, with one rule broken.
 * @throws  Error when the rule is not marked exactly once: a mutant that changes nothing proves nothing
 */
export function defineMutant(redis: Redis, { name, rule, put }: Omit<Mutant, 'crawls'>): void {
  const changed = new Map<string, string>()
  for (const file of new Set([...partsOf().values()].flatMap((files) => [...files]))) {
    let places = 0
    const text = brokenText(readAnyPart(file), { rule, put }, () => places++)
    if (places > 1) throw new Error(`rule ${rule} is marked twice in ${file}.lua (mutant '${name}')`)
    if (places === 1) changed.set(file, text)
  }
  if (changed.size !== 1)
    throw new Error(
      `rule ${rule} is marked in ${changed.size} files: ${[...changed.keys()].join(', ')} (mutant '${name}')`,
    )
  const read = (file: string): string => changed.get(file) ?? readAnyPart(file)
  const isChanged = (verb: AnyVerb): boolean => [...changed.keys()].some((file) => partsOf().get(verb)?.has(file))
  defineAll(redis, (verb) => (isChanged(verb) ? textOf(verb, read) : textOf(verb)))
}

type AnyVerb = (typeof ALL_VERBS)[number]
let parts: Map<AnyVerb, Set<string>> | undefined
/** The parts that each verb is made of. */
function partsOf(): Map<AnyVerb, Set<string>> {
  parts ??= new Map(
    ALL_VERBS.map((verb) => {
      const files = new Set<string>()
      textOf(verb, (file) => {
        files.add(file)
        return readAnyPart(file)
      })
      return [verb, files]
    }),
  )
  return parts
}

/** Every rule that is marked in the scripts. */
export function markedRules(): Set<string> {
  const files = new Set([...partsOf().values()].flatMap((some) => [...some]))
  return new Set([...files].flatMap((file) => [...readAnyPart(file).matchAll(RULE)].map(([, rule]) => rule as string)))
}

/** Name of the bug, the rule it breaks, and the code in its place. */
const BUGS: [name: string, rule: string, put: string][] = [
  // which holder may write back
  ['record accepts any fence', 'record-minds-the-fence', 'robotsFetchOf(origin)'],
  ['fences are counted, not taken from the clock', 'fences-rise-after-a-loss', '0'],
  // delays
  ['the delay counts from the beginning', 'the-delay-counts-from-the-end', 'startedAt + owed'],
  ['elapsed time is believed without limit', 'elapsed-time-is-bounded', 'tonumber(elapsedMs)'],
  ['a further request may have ended before it was sent', 'an-exchange-ends-after-its-latest-request', 'false'],
  [
    'the due time is lost with an emptied lane',
    'an-empty-lane-is-still-due',
    'if hasWork(lane) then setDue(lane, opens) end',
  ],
  ['looking ahead drops the due time of an emptied lane', 'an-empty-lane-keeps-its-due-time', 'true'],
  ['a lane with work is forgotten when nothing is owed', 'a-lane-with-work-stays', 'true'],
  ['a lane with high URLs alone is forgotten', 'high-urls-are-work', 'false'],
  ['store lowers a due time', 'storing-keeps-the-due-time', "'LT'"],
  ['a lane that is released is due at once', 'a-released-lane-keeps-its-due-time', 'now'],
  ['a reaped reservation forgets its due time', 'a-reaped-reservation-keeps-its-due-time', 'now'],
  ['start does not wait until the lane is due', 'start-waits-until-due', 'false'],
  ['waking lowers a due time', 'waking-keeps-the-due-time', 'now'],
  ['a longer delay does not count for delays that run', 'a-longer-delay-counts-while-it-runs', '0'],
  ['a longer delay does not count for a lane that is reserved', 'a-longer-delay-counts-for-reservations', 'notBefore'],
  [
    'a robots fetch owes the delay from before it',
    'the-robots-fetch-owes-the-new-delay',
    'ended + tonumber(ARGV[ARG.delayMs])',
  ],
  ['a secondary lease ignores the due time', 'a-secondary-lease-waits-until-due', 'true'],
  // what is due soon is granted ahead
  ['start grants nothing ahead', 'start-waits-until-due', 'notBefore > now'],
  ['a secondary lease is not granted ahead', 'a-secondary-lease-waits-until-due', 'ownDue <= now'],
  ['a lane is not claimed ahead', 'claim-waits-until-due', 'due > now'],
  ['an order that is granted ahead may be sent at once', 'an-order-says-how-long-to-wait', "'0'"],
  ['a permit that is granted ahead may be used at once', 'a-permit-says-how-long-to-wait', "'0'"],
  ['what is granted ahead may end before it is sent', 'what-is-granted-ahead-is-sent-when-it-is-due', 'false'],
  ['a pace lane may end before its request is sent', 'a-request-waits-for-all-of-its-lanes', '0'],
  // leases and robots fetches
  ['a lane waits for a gate that has opened meanwhile', 'a-change-since-the-reservation-is-judged-anew', 'false'],
  ['a lane waits for a robots fetch that has ended', 'a-robots-fetch-that-ended-holds-no-lane', 'false'],
  ['reap does not wait for the quarantine', 'reap-adds-the-quarantine', '0'],
  ['a started lease ends with its reservation', 'a-lease-outlasts-its-reservation', 'true'],
  ['start relies on the reservation, whatever changed since', 'a-change-since-the-reservation-counts', 'false'],
  ['start does not see what its own call has changed', 'one-call-sees-its-own-changes', ''],
  ['what changed last counts for no origin', 'what-changed-last-may-be-this-origin', 'true'],
  [
    'a closed gate is taken for an open one',
    'open-gates-only-are-relied-on',
    '(fetchFence or o[FACTS.failures] or o[FACTS.overrideDelay])',
  ],
  [
    'failures in a row are not seen when nothing else is wrong',
    'open-gates-only-are-relied-on',
    '(fetchFence or o[FACTS.backOffUntil] or o[FACTS.pausedUntil] or o[FACTS.blockedUntil] or o[FACTS.overrideDelay])',
  ],
  [
    'an override that stands at the reservation is not seen',
    'open-gates-only-are-relied-on',
    '(fetchFence or o[FACTS.backOffUntil] or o[FACTS.pausedUntil] or o[FACTS.blockedUntil] or o[FACTS.failures])',
  ],
  ['reserve relies on gates that stood open once', 'a-change-closes-the-short-cut', ''],
  ['an answer opens all gates', 'open-gates-are-all-open', 'false'],
  ['back-off is not noted', 'a-back-off-is-marked', ''],
  ['an operation is not noted', 'an-operation-is-marked', ''],
  ['a secondary lease overlaps', 'a-secondary-lease-is-alone', 'true'],
  ['a free lane may have a lease', 'a-free-lane-has-no-lease', 'false'],
  ['a free lane may have URLs of its own', 'a-free-lane-has-no-urls', 'false'],
  ['a free lane may have a queue', 'nobody-waits-for-a-free-lane', 'false'],
  ['a free lane need not be due', 'a-free-lane-is-due', 'false'],
  ['the gates of a free lane are not looked at', 'a-known-origin-may-have-gates', 'false'],
  ['a free lane may have a closed gate', 'the-gates-of-a-free-lane-are-open', 'false'],
  ['a free lane owes only what its holder knows', 'a-free-lane-owes-the-known-delay', '0'],
  ['a lease never ends when its holder dies', 'every-lease-ends', "TAG .. 'nothing'"],
  [
    'a request goes out although the pace lane is closed',
    'a-closed-pace-lane-refuses',
    "paceFence == nil and (function() paceFence, owed = '1', delayMs return false end)()",
  ],
  ['an unused secondary lease forgets the due time', 'an-unused-secondary-lease-keeps-the-due-time', '0'],
  ['the last to come is let in first', 'first-come-first-served', 'true'],
  ["a lane's own URLs have no place in its queue", 'own-urls-have-a-place', 'false'],
  ['a request makes a lane without URLs due', 'a-request-makes-no-empty-lane-due', 'true'],
  ["a lane's own URLs come before those that wait", 'own-urls-wait-their-turn', 'false'],
  ['a missed place is kept for ever', 'a-missed-place-is-lost', 'true'],
  ['a robots.txt page is not noted as a robots fetch', 'a-robots-fetch-is-noted', 'kind == KIND.robots'],
  ['a hop is not noted as a robots fetch', 'a-hop-that-fetches-robots-is-noted', 'false'],
  ['a robots fetch without an answer wakes no lane', 'every-robots-fetch-wakes', 'due and isRecorded'],
  ['a dead hop is taken for a dead robots fetch', 'robots-leases-alone-are-returned', 'true'],
  ['the death of a robots.txt page counts no attempt', 'a-dead-request-counts-an-attempt', 'kind == KIND.page'],
  ['a robots fetch ends with its lease', 'a-robots-fetch-outlasts-its-lease', 'leaseMs'],
  // permits
  ['the pace lane of a permit owes what the permit asked for', 'the-pace-lane-of-a-permit-owes-its-delay', 'false'],
  ['an extended lease ends as before', 'an-extended-lease-lasts', ''],
  ['a lane with a lease is claimed', 'a-claimed-lane-has-no-lease', 'false'],
  ['a lane is claimed before it is due', 'claim-waits-until-due', 'false'],
  // restarts
  ['the epoch is ignored', 'a-restart-or-a-leap-is-an-epoch', 'not run or leap'],
  ['start looks at the hold, reserve does not', 'reserve-minds-the-hold', 'false'],
  ['a caller of another epoch is not heard', 'another-epoch-is-noticed', 'false'],
  ['the clock may run backwards', 'time-never-runs-back', 'false'],
  // a clock that leaps
  ['a clock that went back stands still until it has caught up', 'clock-set-back', 'false'],
  ['a clock that is ahead is believed', 'unseen-time-is-left-out', 'false'],
  ['a leap needs no hold', 'a-restart-or-a-leap-is-an-epoch', 'run ~= thisRun'],
  ['a process that has just started is believed at once', 'newcomers-do-not-vouch', 'false'],
  ['a running process that has not seen the time is not heard', 'denied-time-is-a-leap', ''],
  ['leases are granted in doubt', 'nothing-is-granted-in-doubt', 'false'],
  ['a delay is written while it is in doubt what time it is', 'complete-waits-for-the-clock', 'false'],
  ['a clock that runs fast is believed', 'what-a-fast-clock-gains-is-left-out', '0'],
  ['only calls that claim it are slowed', 'one-claim-slows-all-calls', 'last and excess'],
  ['an absurd rate is believed', 'a-claimed-rate-is-bounded', 'claimed'],
  ['a gate holds a URL beyond its expiry', 'a-gate-holds-no-url-beyond-its-expiry', 'till'],
  ['the date in a Retry-After goes by the time of the ledger', 'a-date-goes-by-the-clock-of-redis', '0'],
  ['an expiry goes by the time of the ledger', 'an-expiry-goes-by-the-clock-of-redis', '0'],
  ['fences begin anew with a Redis that has forgotten them', 'time-goes-on-after-a-loss', ''],
  ['an empty ledger is taken for a new one', 'an-empty-ledger-is-not-new', "known == ''"],
  // confirm
  ['an unused lease opens the lane at once', 'an-unused-lease-owes-its-delay', 'now'],
  ['an announced restart outlives what was granted after it', 'a-grant-ends-the-announcement', 'false'],
  // back-off
  ['every agent escalates the same incident', 'one-escalation-per-incident', 'true'],
  ['jitter shortens', 'jitter-lengthens', '1 - tonumber(jitter) / 10'],
  ['a shorter Retry-After shortens', 'a-back-off-is-never-shortened', '0'],
  ['a good answer forgets all failures', 'good-answers-halve-the-failures', '0'],
  ['incidents are never forgotten', 'incidents-are-forgotten', 'incidents + 1'],
  ['a wait counts as a failure', 'a-wait-is-no-failure', 'true'],
  [
    'only a request for less may ask to wait',
    'any-answer-may-ask-to-wait',
    "kind == 'asked-for-less' and retryAfter(retryMs, retryAt, ended) or 0",
  ],
  ['an answer that asks to wait halves no failures', 'a-wait-is-a-good-answer', 'false'],
  ['the target of a redirect does not wait', 'a-redirect-delays-its-target', 'false'],
  ['the target of a redirect waits beyond its end', 'a-waiting-target-may-expire', 'due'],
  ['targets of redirects wait for nothing', 'a-target-enters-when-it-is-due', "'+inf'"],
  // URLs
  ['the wrong list loses its head', 'the-first-url-leaves-its-own-list', 'false'],
  ['what stands behind the head leaves with it', 'the-next-url-moves-up', 'setFirst(lane, nil)'],
  ['a lane does not say that there is more behind the head', 'a-lane-says-that-there-is-more', ''],
  ['store puts a URL over the head', 'the-first-url-stays', 'not more'],
  ['an id is not free after its outcome', 'an-id-is-free-after-its-outcome', ''],
  ['a death counts no attempt', 'attempts-are-counted', 'before'],
  ['a high URL passes a head that was tried', 'a-tried-url-comes-first', 'false'],
  ['a job that comes again stores again', 'a-chunk-is-stored-once', 'false'],
  ['a worker that has lost its job stores for it', 'only-the-job-s-holder-stores', "call('EXISTS', markKey) == 0"],
  ['a stored id is stored again', 'a-stored-id-is-absorbed', "call('SADD', TAG .. KEY.ids .. bucket, number) >= 0"],
  ['the lane limit is one too high', 'a-lane-has-a-limit', '(limit + 1)'],
  ['storing makes a lane in flight due', 'a-lane-with-a-lease-is-not-due', 'true'],
  // operations
  ['resume wakes before the due time', 'resuming-keeps-the-due-time', 'now'],
  ['an override waits for the next request', 'an-override-counts-while-a-delay-runs', '0'],
  // the least delays of the configuration
  ['a pace group owes the least delay of its lane', 'a-pace-group-has-a-delay-of-its-own', 'true'],
  ['start does not look at a raise', 'start-minds-a-raised-delay', 'notBefore'],
  ['what stays is taken for a raise', 'a-least-delay-that-stays-was-raised-before', 'false'],
  ['an agent that is not named is forgotten', 'an-agent-that-is-not-named-keeps-its-own', 'nil'],
  ['least delays do not wait for the clock', 'rates-wait-for-the-clock', 'false'],
  // delays and gates, as one table and one part answer for all
  ['what is recorded of the origin is not owed', 'the-recorded-delay-is-owed', '0'],
  ["an operator's delay is not owed", 'the-delay-by-hand-is-owed', '0'],
  ['a robots fetch owes less than what was known before it', 'the-robots-fetch-owes-the-delay-before-it', '0'],
  ['a raise does not count while a delay runs', 'a-raise-counts-while-a-delay-runs', 'true'],
  ['a lost exchange owes nothing', 'a-lost-exchange-owes-its-delay', 'false'],
  ['a held lane is reserved', 'reserve-minds-closed-gates', 'false'],
  ['a lane is claimed although its pace lane is closed', 'claim-waits-for-the-pace-lane', 'false'],
  ['a permit is granted although the pace lane is closed', 'a-closed-pace-lane-refuses-both', 'true'],
  ['good answers to permits halve no failures', 'good-answers-count-for-permits', "failures ~= ''"],
  ['lanes that another gate holds are woken', 'waking-minds-the-gate', 'true'],
  ['a change of the stops forgets the due time', 'a-change-of-a-record-keeps-the-due-time', 'now'],
  ['a second request goes out under a lease', 'one-request-at-a-time-under-a-lease', 'false'],
  ['a further request owes nothing', 'a-further-request-waits-for-every-lane', 'now'],
  ['a request that waits hides the one before', 'the-request-before-stays-known', 'startedAt'],
  ['a turn that is to come is granted', 'a-request-is-looked-at-when-its-turn-comes', 'false'],
  [
    'a further request counts from its own lane alone',
    'a-further-request-counts-from-the-latest-lane',
    'n == 1 and sentIn or sent',
  ],
  ['a longer delay does not count for the lane of the host', 'a-longer-delay-counts-for-the-host', ''],
  ['a pause holds for its own origin alone', 'a-pause-holds-for-the-host', ''],
  ['resume wakes its own origin alone', 'a-resume-wakes-the-host', ''],
  ['lanes that a pause held are not woken', 'a-resume-wakes-all-ports', 'false'],
  ['a lane that is to be judged again waits', 'a-lane-that-is-judged-again-is-due', 'false'],
  ['a URL that is stored behind a closed gate waits for it', 'a-new-first-url-may-end-a-wait', 'false'],
  ['the URLs of one list alone end a wait', 'a-url-of-any-list-may-expire', '{ LIST.normal }'],
  ['what has expired in another list keeps a lane that is held', 'what-expired-in-another-list-ends-first', 'false'],
  ['a closed gate keeps what has expired', 'what-expires-ends-behind-a-closed-gate', 'false'],
  ['a change of stops or policies wakes no lane', 'a-change-of-a-record-wakes-lanes', ''],
  ['who waits for a gate has a place in line', 'no-line-behind-a-gate', 'false'],
  [
    'a permit that waits for its pace lane loses its place',
    'a-request-keeps-its-place-in-both-lines',
    'own.isFree and 0 or await(own, own.opens, gate)',
  ],
  ['an order of a pool takes a slot', 'an-order-of-a-pool-takes-no-slot', 'false'],
  // what a process writes again after a loss
  ['a restored end owes nothing', 'a-restored-end-is-owed', 'false'],
  ['a restored end lowers a due time', 'a-restored-end-lowers-no-due-time', 'true'],
  ['a restored end lowers the due time of a reservation', 'a-restored-end-lowers-no-reservation', 'false'],
  ['a restored end is forgotten behind a gate', 'a-restored-end-counts-behind-a-gate', 'false'],
  ['an earlier end takes the place of a later one', 'the-latest-end-is-remembered', 'true'],
  ['a restored back-off closes nothing', 'a-restored-load-closes-the-site', 'false'],
  // policies of sites
  ['a policy that stays is taken for a change', 'a-policy-that-stays-keeps-its-change', 'false'],
  ['a policy that is dropped is forgotten', 'a-policy-that-is-dropped-is-remembered', 'false'],
  ['the policy of the longest reach counts', 'the-nearest-policy-counts', 'true'],
  ['a budget is never spent', 'a-request-is-counted', '0'],
  ['visiting hours go by the time of the ledger', 'visiting-hours-go-by-the-clock-of-redis', 'now'],
  ['consent shortens nothing', 'consent-takes-the-place-of-all', 'false'],
  ['a policy has no delay', 'the-delay-of-a-policy-is-owed', '0'],
  ['a longer policy waits for the next request', 'a-longer-policy-counts-while-a-delay-runs', '0'],
  ['consent shortens the delay of a group', 'consent-shortens-no-group', 'isConsented'],
  // emergency stops
  ['a stop covers its own name alone', 'a-stop-covers-the-names-below', '1'],
  // shared records
  ['an older version of a record is written', 'an-older-record-changes-nothing', 'false'],
  ['a record that was made from an older version is written', 'a-record-is-made-from-the-one-in-force', 'false'],
  ['a stop ends by the time of the ledger', 'a-stop-ends-by-the-clock-of-redis', '0'],
  ['stops do not wait for the clock', 'stops-wait-for-the-clock', 'false'],
]
/** The same for rules that need several crawls. */
const BUGS_OF_CRAWLS: typeof BUGS = [
  // turns
  ['a turn costs nothing', 'crawls-take-turns', 'tonumber(found[i + 1])'],
  ['all weigh the same', 'a-heavier-crawl-has-more-turns', '1'],
  ['a newcomer comes first', 'a-newcomer-waits-for-its-turn', '0'],
  ['the default crawl is forgotten when another one comes', 'the-default-crawl-takes-turns', 'false'],
  ['a crawl keeps its turn without URLs', 'a-crawl-without-urls-has-no-turn', 'true'],
  ['URLs of priority high wait behind the others of their crawl', 'high-urls-of-a-crawl-come-first', 'false'],
  ['a lane with URLs of other crawls alone is forgotten', 'urls-of-other-crawls-are-work', 'false'],
  ['outcomes of all crawls come in one stream', 'an-outcome-goes-to-its-crawl', 'false'],
  ['a crawl without a slot closes the lane for the others', 'a-crawl-without-a-slot-holds-no-other', 'true'],
  ['a crawl without a slot saves up its turns', 'a-crawl-without-a-slot-saves-no-turns', ''],
  ['a tried URL without a slot closes the lane for the others', 'a-tried-url-without-a-slot-is-passed-over', 'false'],
  [
    'a lane whose crawls are all held is looked at ten times a second',
    'a-lane-that-is-held-again-is-looked-at-later',
    'false',
  ],
  // pause, limits
  ['a paused crawl goes on', 'a-held-crawl-is-passed-over', 'false'],
  ['a crawl goes on although nobody reads', 'a-crawl-with-a-full-stream-is-held', 'false'],
  // the line of due lanes
  ['lanes of a crawl come in a line one at once', 'crawls-take-turns-in-line', 'turn'],
  ['a crawl saves up its turns in line', 'a-crawl-saves-no-turns-in-line', 'known'],
  ['a paused crawl lends its turns in line to others', 'a-held-crawl-lends-no-turns', 'false'],
  ['an unused lease brings an old place in line back', 'a-lease-keeps-no-place-in-line', 'false'],
  ['a lane without URLs takes a turn in line', 'a-lane-without-urls-takes-no-turn', 'true'],
  ['a held lane keeps its place in line', 'a-held-lane-leaves-its-line', 'ownDue'],
  ['a paused crawl saves up its turns', 'a-held-crawl-saves-no-turns', 'tonumber(found[i + 1])'],
  ['a crawl has no limits', 'a-crawl-has-limits', 'false'],
  ['a URL of a held crawl outlives its expiry', 'urls-of-held-crawls-expire', 'false'],
  // cancel
  ['what is in flight is cancelled', 'what-is-in-flight-is-not-cancelled', 'false'],
  ['a reservation outlives the URLs that are cancelled', 'a-cancel-ends-the-reservation', 'false'],
  // permits
  ['permits of crawls come in the order of their requests', 'permits-of-crawls-take-turns', 'false'],
  ['a lane that was leased by the same call is still due', 'a-leased-lane-is-not-due', ''],
  ['permits of all crawls weigh the same', 'a-heavier-crawl-has-more-permits', '1'],
  ['a permit takes no turn', 'a-permit-is-a-turn', '0'],
  ['a crawl with URLs has another turn for its permits', 'a-crawl-with-urls-has-one-turn', 'false'],
  ['a permit of a crawl with URLs takes no turn of these', 'a-permit-moves-the-one-turn', 'false'],
  ['the default crawl begins before all others', 'the-default-crawl-begins-with-the-next', "'0'"],
  ['a held crawl keeps permits back', 'a-held-crawl-keeps-no-permit-back', 'true'],
  ['who names no crawl has the last place', 'who-names-no-crawl-keeps-its-place', 'true'],
  ['requests of other ports take turns in the lane of the host', 'turns-are-between-requests-of-the-lane', 'true'],
  ['a crawl begins before the next', 'a-crawl-begins-after-the-next', '0'],
  ['a crawl pays for requests that it made alone', 'a-crawl-loses-nothing-by-early-requests', 'turn'],
  ['a crawl saves up turns while it is away', 'a-crawl-gains-nothing-by-its-absence', 'turn'],
  ['who has no turn comes first', 'who-has-no-turn-comes-last', '0'],
  ['turns do not order the line', 'the-least-turn-is-next', 'false'],
  ['among equal turns the last to come is first', 'among-equal-turns-the-first-comes-first', 'one.at > other.at'],
  ["a lane's own URLs take no turns with permits", 'own-urls-take-turns-with-permits', 'false'],
  ['URLs that nobody fetches keep permits back', 'urls-that-nobody-fetches-keep-no-permit-back', 'true'],
  ['a permit comes when the next URL is reserved', 'a-permit-comes-while-the-delay-of-its-turn-runs', 'false'],
  ['a permit of a held crawl waits', 'a-permit-of-a-held-crawl-is-answered-with-its-record', 'false'],
  ['a robots fetch for a held crawl waits', 'a-claim-for-a-held-crawl-is-answered-with-its-record', 'false'],
  ['every robots fetch is for the default crawl', 'a-claim-is-for-the-crawl-that-it-names', 'LIST.normal'],
]
const BUGS_OF_GATES: typeof BUGS = READ_GATES.map((gate) => [
  `the gate ${gate} is never closed`,
  readerRule(gate),
  GATE_TABLE[gate].manner === 'again' ? 'false' : '0',
])
const IS_STARTED = 'fence == named and startedAt > 0'
/** A robots fetch is known by its fence at its origin, too. */
const BUGS_OF_LIFE: typeof BUGS = [
  ...HELD_EVENTS.filter((event) => event !== 'record').map((event): (typeof BUGS)[number] => [
    `'${event}' does not look at the fence`,
    lifeRule(event),
    conditionsOf(event).slice(1).join(' and '),
  ]),
  ['what was not started is completed', lifeRule('done'), 'fence == named'],
  ['start grants a second time', lifeRule('start'), 'fence == named'],
  ['any started lease can be released', lifeRule('release'), 'fence == named'],
  ['the gateway goes on with what was started', lifeRule('keep'), 'fence == named'],
  ['the gateway defers what was started', lifeRule('defer'), 'fence == named'],
  ['a robots.txt page may record rules', lifeRule('record'), IS_STARTED],
  ['a lease that is over is extended', lifeRule('extend'), IS_STARTED],
  ['a lease that is over has further requests', lifeRule('next'), IS_STARTED],
  ['a lease that is over is confirmed', lifeRule('confirm'), IS_STARTED],
]
const isOfCrawls = ([, rule]: (typeof BUGS)[number]): boolean => rule === readerRule('crawl-held')

const mutantsOf = (bugs: typeof BUGS, crawls: boolean): Mutant[] =>
  bugs.map(([name, rule, put]) => ({ name, rule, put, crawls }))
export const MUTANTS: Mutant[] = [
  ...mutantsOf([...BUGS, ...BUGS_OF_LIFE, ...BUGS_OF_GATES.filter((bug) => !isOfCrawls(bug))], false),
  ...mutantsOf([...BUGS_OF_CRAWLS, ...BUGS_OF_GATES.filter(isOfCrawls)], true),
]
