/**
 * Faults that were mended in code that the world does not play, or that break no promise of a site or a frontier, each with the test that shows it. `test`
 * names the file, and behind `:` a part of the title of one of its tests.
 */
export type Elsewhere = { fault: string; of: string; test: string }

const by = (of: string, all: Record<string, string>): Elsewhere[] =>
  Object.entries(all).map(([fault, test]) => ({ fault, of, test }))

export const ELSEWHERE: readonly Elsewhere[] = [
  ...by('repro ledger', {
    'claim-spin-host: a lane is claimed although that of its host is closed':
      'test/ledger/model/mutants.ts: a lane is claimed although its pace lane is closed',
    'flush-partitions: the list of partitions is not written again':
      'test/ledger/open.test.ts: a list of partitions that Redis has lost with all else is written again',
    'held-crawl-expiry: a URL of a paused crawl outlives its expiry':
      'test/ledger/crawls.test.ts: the URL of a paused crawl that has expired is handed out, so that it ends',
    'idempotent-replay: an old answer is given again word for word':
      'test/permits/idempotency.test.ts: the same permit is answered with what is left of its lease',
    'limit-stays: a limit that was removed is written again':
      'test/ledger/crawls.test.ts: a share of a limit that was taken away after the limit had been read is not written',
    'lost-second-long-delay: a delay longer than the hold is forgotten':
      'test/ledger/lost-writes.test.ts: a delay that is longer than the hold is waited for, from the end that was lost',
    'order-block: a lane waits for a worker although its origin is blocked':
      'test/ledger/model/mutants.ts: a lane that is to be judged again waits',
    'partitions-refused: what a stopped process has announced stays':
      'test/ledger/move/what-holds.test.ts: a process that ended without a goodbye, long ago, is no reason to refuse',
    'permit-max: a permit lasts longer than PERMIT_MAX_MS':
      'test/permits/permits.test.ts: no permit lasts longer than PERMIT_MAX_MS, also where that is shorter than a lease',
    'pool-policy: further requests keep neither delay nor budget of a policy':
      'test/ledger/site-policies.test.ts: a budget is for a host, all its ports and agents, pages, robots fetches, hops and permits',
    'pool-starves: orders that workers hold take slots of the fetchers':
      'test/permits/pools.test.ts: what workers hold and extend takes no slot of the fetchers',
    'stop-all-expiry: a URL that expires while everything is stopped waits':
      'test/ledger/stops.test.ts: a URL that expires while it is stopped ends, and its outcome says why',
  }),
  ...by('repro exchange, links', {
    'proxy-frozen: a proxy of EGRESS that does not answer is held against the site':
      'test/sending/http/egress.test.ts: for one site alone: nobody is blamed',
    'tls-no-close-notify: a robots.txt that may lack its end is read':
      'test/sending/http/ends.test.ts: a robots.txt that may lack its end is an answer that failed',
    'adapter-python-long: the adapter for Python does not extend its permit':
      'test/permits/held.test.ts: %s: an exchange of several leases is extended, and read to its end',
    'config-version-reused: two configurations have one version':
      'test/fleet/config-store.test.ts: a version that some partition has taken over is not used again',
    'idempotent-late-close: the end of one connection ends the wait of another':
      'test/permits/idempotency.test.ts: the end of the connection that came first ends nothing',
    'migrate-lost: candidates are lost while a slot of a cluster moves':
      'test/cluster/ledger.test.ts: what is redirected too often was neither answered nor stored',
  }),
  ...by('repro ops', {
    'doctor-reasons: what Redis refuses is not said':
      'test/cli/doctor.test.ts: a command that the user may not run is named',
    'flushed-redis: a fleet does not come back after FLUSHALL':
      'test/fleet/config-store.test.ts: where an earlier version comes back',
    'full-of-candidates: a full Redis stands still':
      'test/faults/full-of-candidates.test.ts: all that was accepted has its outcome, and URLs are taken in again',
    'paused-queue: a queue that another tool has paused is not named': 'test/console/unit/headline.test.ts: paused',
    'readonly-failover: a connection stays with the old master':
      'test/ledger/forgotten-link.test.ts: after a failover that closes no connection, each goes over to the new master',
    'redis-login: a password that has to be encoded ends a process with a stack':
      'test/protocol/redis-address.test.ts: one address is one server',
  }),
  ...by('repro security', {
    'console-lockout: wrong passwords lock the right one out':
      'test/console/unit/guesses.test.ts: an hour of wrong passwords as fast as they go',
    'h2-idle-flood: frames of an idle connection are not counted':
      'test/sending/http/http2.test.ts: frames between two exchanges are counted',
    'permits-preauth-parse: a body is parsed before the token is looked for':
      'test/permits/access.test.ts: who has no token is answered before the body comes',
    'redirects-starve-fleet: targets of redirects have slots of their own':
      'test/faults/hostile.test.ts: hostile sites, limited tokens, anonymous clients',
    'robots-redirect-starves: hops of many hosts take the turns of one':
      'test/sending/robots/hop-lines.test.ts: of many hops to one host, four wait and the others are late at once',
    'token-fills-redis: what a token asks about is kept for long':
      'test/ledger/lives.test.ts: what only a token asked about is kept for half a minute',
    'token-starves-fleet: robots fetches of one token take all slots':
      'test/faults/hostile.test.ts: hostile sites, limited tokens, anonymous clients',
    'worker-huge-outcome: what a worker reports has no bound':
      'test/permits/pools.test.ts: ends once however often it is completed, and what cannot be read ends nothing',
  }),
  ...by('repro warc', {
    'cdxj-keys: keys are not those of other tools':
      'test/fetcher/unit/surt.test.ts: thousands of odd URLs have the keys',
    'http10: an answer in HTTP/1.0 is kept as HTTP/1.1':
      'test/sending/http/second-reading.test.ts: version and reason phrase are those of the status line',
    'outcome-types: `truncated` has two types':
      'test/protocol/outcome.test.ts: what earlier versions wrote is read: there `truncated` was false for a whole body',
    'target-uri: a target URI is not escaped':
      'test/fetcher/sink/records.test.ts: a URL that is no URI is escaped in the record, and found by the key of both',
  }),
  ...by('repro web', {
    'charset-late: a late meta charset':
      'test/content/unit/charset.test.ts: behind the head meta counts within 1,024 bytes',
    'coding-unknown: a word that is no content coding':
      'test/content/unit/coding.test.ts: an unknown coding of a body that is no text is undecodable',
    'framing-lenient: framing that browsers read':
      'test/sending/http/lenient-reader.test.ts: wherever the octets are cut, the same is read',
    'head-folded: folded and bare lines of a head':
      'test/sending/http/lenient-reader.test.ts: fields come as they were sent: order, case, repeats, octets',
    'links-legacy-query: the query of a link in the charset of its page':
      'test/content/unit/links.test.ts: windows-1251',
    'links-odd-pages: a base behind links':
      'test/content/unit/links.test.ts: a base behind links counts for them as well',
    'retry-after-forms: a form of a date is not read':
      'test/robots/ours.test.ts: every date of the three forms of RFC 9110 is read as Date prints it',
    'rules-with-blanks: octets that no URL holds':
      'test/robots/one-form.test.ts: any character: raw or encoded, in either case of the digits, on both sides',
    'url-long: URLs of 8 KB':
      'test/fetcher/journey-with-gateway.test.ts: a path of the longest length goes the whole way',
  }),
  ...by('changelog 0.2.0, fixed', {
    'a request that its own machine kept from leaving is a failure of the site':
      'test/sending/http/frozen.test.ts: SIGSTOP for a part of the send window in which nothing came of the look-up: the site is not blamed',
    'requests of a URL are forgotten when another crawl has its turn':
      'test/ledger/crawls.test.ts: requests that were made for a URL stay counted while a URL of another crawl is tried in its lane',
    'a connection that the network has forgotten is waited for':
      'test/ledger/forgotten-link.test.ts: a command that waits for Redis is answered over a new connection',
    'a role ends when Redis is slow to start':
      'test/ledger/open.test.ts: a Redis that is too busy for its first answer is waited for',
    'a clock of Redis that runs fast shortens delays':
      'test/ledger/clock-leap.test.ts: while Redis’s clock runs fast, delays and leases last as long as a process has measured',
    '--resume fetches a URL twice': 'test/cli/crawl.test.ts: no page is fetched twice',
    'a head takes more than time in proportion':
      'test/content/hostile.test.ts: a head of blanks is read in time that is in proportion to it',
    'children outlive Ctrl-C': 'test/cli/conform.test.ts: SIGTERM ends the worker with its children',
  }),
  ...by('changelog 0.2.0, changed', {
    'slots are not shared by requester and domain':
      'test/politeness/shares.test.ts: each way of grouping counts by itself: a token with a thousand hosts has one share',
    'crawls do not take turns by weight': 'test/ledger/crawls.test.ts: turns are by weight',
    'a limited token closes a site for a day':
      'test/permits/access.test.ts: a Retry-After is believed of a limited token up to an hour',
    'a pause holds one port alone': 'test/ledger/operate.test.ts: each port of a host may be paused',
    'an empty query is dropped': 'test/robots/ours.test.ts: an empty query is part of a URL',
    'a contradiction of the configuration starts all the same':
      'test/fleet/one-configuration.test.ts: a second gateway with a shorter delay than the fleet does not start',
    'a full Redis takes URLs and stands still':
      'test/ledger/full-redis.test.ts: a URL goes all the way to its outcome, so that its memory becomes free',
  }),
  ...by('changelog 0.1.0, fixed', {
    'a candidate of any JSON stands in the way of others': 'test/gateway/any-candidate.test.ts: candidates of any JSON',
    'lanes of an agent that a process does not know take slots':
      'test/gateway/unknown-agent.test.ts: forty lanes of an agent that the fetchers do not know yet take no slots',
    'an ETag is sent although its body has expired':
      'test/fetcher/robots/robots-fleet.test.ts: 31 days on, an origin that an operator once touched is asked once, without its ETag',
    'an empty Redis is taken for a new one': 'test/ledger/model/mutants.ts: an empty ledger is taken for a new one',
    'https: is starved by other ports':
      'test/ledger/fairness.test.ts: forty-five ports of a paused host come one after the other when it is resumed',
    'outcomes are acknowledged before they are on the disk':
      'test/cli/full-disk.test.ts: the crawl ends as an error, unfinished; --resume completes the file',
    'a page that cannot be kept is lost':
      'test/cli/full-disk.test.ts: a page that cannot be kept ends the crawl as well, and is fetched again',
    'a slow reader loses its outcomes':
      'test/client/readers.test.ts: a reader that is slow over one outcome keeps the rest of its batch',
    'a group of `from: now` loses what new partitions hold':
      'test/client/partitions.test.ts: a group of `from: now` misses nothing of partitions that come later',
    'a page of another origin changes something':
      'test/console/door.test.ts: what may not pass is refused, and changes nothing',
    'a body is unpacked at once':
      'test/content/unit/coding.test.ts: up to three codings, in pieces of any size, come back as they were packed',
    'characters that turn the direction of text are shown':
      'test/console/unit/page.test.ts: what turns the direction of text, or cannot be seen, is shown as an escape',
    'addresses that clouds serve their own instances at are visited':
      'test/sending/http/address-guard.test.ts: what lies beside them is public',
    'a wrong password of Redis is not named':
      'test/ledger/open.test.ts: the error says why there is no connection: a password, a port',
    'the largest candidate cannot be enqueued':
      'test/cli/enqueue.test.ts: a candidate with the largest meta, written in escapes, is stored whole',
    'text that is not UTF-8 is taken in': 'test/console/http.test.ts: text in another encoding is refused',
    'a redirect leads around a block':
      'test/fetcher/robots/robots-fleet.test.ts: a redirect of robots.txt does not lead around an operator’s block',
    'a URL is stored twice by a frozen gateway':
      'test/faults/named-job.test.ts: URLs that a frozen gateway was still storing are neither stored nor marked',
  }),
]
