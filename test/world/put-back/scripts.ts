/** Faults in the scripts. */
import type { InScripts } from './fault.ts'
import { ALONE, HELD, LEAPS, LESS, LONGER, LOSSES, OTHERS, QUEUES } from './runs.ts'

/** Rules of the scripts that nothing in the world comes to rely on. */
const CANNOT: Record<string, string> = {
  'the pace lane of a permit owes what the permit asked for':
    'the lane of the host asks what the lane of the permit owes, whatever it is granted for, so only places in a line change (test/ledger/model)',
  'a shorter Retry-After shortens':
    'two answers that ask to wait come one after the other, but to workers of a pool, who may send behind either (test/ledger/model)',
  'a reaped reservation forgets its due time':
    'lanes are reserved 80 ms before they are due, and a reservation is reaped half a minute later (test/ledger/model)',
  'elapsed time is believed without limit':
    'no process of the world reports more time than has passed (test/ledger/model)',
  'fences begin anew with a Redis that has forgotten them':
    'what was granted before is over when the startup hold ends, so a fence that comes again meets no holder of the former one (test/ledger/model)',
}
export const IN_SCRIPTS: readonly InScripts[] = (
  [
    // Fetchers report both delays as well; the scripts owe them whatever is reported
    [
      'a robots fetch owes the delay from before it',
      'changelog 0.1.0: the longest known crawl-delay is owed also by the request that brought it',
      LONGER,
    ],
    [
      'a longer delay does not count for the lane of the host',
      'changelog: the host owes a delay that was raised while a request of another port was in flight (repro pace-lane-raise)',
      LONGER,
    ],
    ['the delay counts from the beginning', 'changelog: the delay counts from when the connection is closed', {}],
    ['elapsed time is believed without limit', 'rule', {}],
    ['store lowers a due time', 'spec §6: adding a URL never lowers a due time', {}],
    ['a lane that is released is due at once', 'rule', {}],
    ['a reaped reservation forgets its due time', 'rule', {}],
    ['start does not wait until the lane is due', 'rule', { kinds: ['crash'], faultEveryMs: 4_000, sites: 24 }],
    ['an order that is granted ahead may be sent at once', 'rule', {}],
    ['a permit that is granted ahead may be used at once', 'rule', OTHERS],
    [
      'a longer delay does not count for delays that run',
      'changelog: a delay that becomes longer is measured from the end',
      LONGER,
    ],
    ['reap does not wait for the quarantine', 'promise 6', {}],
    ['a started lease ends with its reservation', 'promise 1', QUEUES],
    [
      'start relies on the reservation, whatever changed since',
      'changelog: a gate that opens or closes between reservation and start',
      { ...ALONE, kinds: ['pause'], faultEveryMs: 500, slots: 4, fetchers: 1 },
    ],
    ['reserve relies on gates that stood open once', 'changelog: gates', HELD],
    ['a secondary lease overlaps', 'promise 1', OTHERS],
    ['a secondary lease ignores the due time', 'promise 1', OTHERS],
    [
      'a hop is not noted as a robots fetch',
      'changelog 0.1.0: at most one request for robots.txt is in flight',
      { sites: 24, plain: 0 },
    ],
    [
      'the pace lane of a permit owes what the permit asked for',
      'repro delay-host',
      { ...OTHERS, kinds: ['delay'], faultEveryMs: 600, plain: 0 },
    ],
    ['the epoch is ignored', 'promises: a new run of Redis is not noticed', LOSSES],
    ['the clock may run backwards', 'changelog 0.1.0: a clock of Redis that leaps', LEAPS],
    ['a clock that is ahead is believed', 'changelog 0.1.0: a clock of Redis that leaps', LEAPS],
    [
      'a process that has just started is believed at once',
      'decision 0014',
      {
        leaps: true,
        kinds: ['clock leap', 'crash'],
        faultEveryMs: 300,
        permits: 0,
        proxies: 0,
        fetchers: 3,
        sites: 24,
        busySeconds: 60,
      },
    ],
    [
      'leases are granted in doubt',
      'decision 0014',
      { kinds: ['blackout'], faultEveryMs: 15_000, sites: 24, busySeconds: 60 },
    ],
    [
      'fences begin anew with a Redis that has forgotten them',
      'spec §2: fences rise also after Redis lost its tail',
      LOSSES,
    ],
    ['an unused lease opens the lane at once', 'rule', OTHERS],
    ['a shorter Retry-After shortens', 'rule', LESS],
    ['an id is not free after its outcome', 'spec §5', ALONE],
    [
      'a job that comes again stores again',
      'promise 4',
      { kinds: ['crash point'], points: ['intake.after-store', 'intake.done'], faultEveryMs: 500, ...ALONE },
    ],
    ['a stored id is stored again', 'promise 4', LOSSES],
    ['storing makes a lane in flight due', 'rule', {}],
    ["an operator's delay is not owed", 'repro order-requests-longer', LONGER],
    ['start does not look at a raise', 'promise 14', LONGER],
    ['a raise does not count while a delay runs', 'promise 14', LONGER],
    ['a policy has no delay', 'promise 15', LONGER],
    ['a longer policy waits for the next request', 'promise 15', LONGER],
    ['a budget is never spent', 'promise 15; repro repartition-budget', LONGER],
    ['a held lane is reserved', 'promise 2', HELD],
    ['a permit is granted although the pace lane is closed', 'promise 1', OTHERS],
    ['a pause holds for its own origin alone', 'changelog: a pause holds for all schemes and ports of the host', HELD],
    ['a stop covers its own name alone', 'promise 10', HELD],
    [
      'a stop ends by the time of the ledger',
      'promise 10',
      { ...HELD, leapsFirst: true, kinds: ['stop'], busySeconds: 120, permits: 0, proxies: 0 },
    ],
    ['back-off is not noted', 'promise 2', LESS],
    ['an answer opens all gates', 'promise 2', HELD],
    ['the wrong list loses its head', 'promise 4', ALONE],
    ['store puts a URL over the head', 'promise 4', ALONE],
    [
      'a lane with high URLs alone is forgotten',
      'promise 4',
      { ...ALONE, highEvery: 1, kinds: ['slow link', 'cut'], faultEveryMs: 400 },
    ],
    [
      'a lane with URLs of other crawls alone is forgotten',
      'promise 4',
      { ...ALONE, ofDefault: 0, kinds: ['slow link', 'cut'], faultEveryMs: 400 },
    ],
    ['outcomes of all crawls come in one stream', 'spec §5', ALONE],
    [
      'what is in flight is cancelled',
      'changelog: cancel',
      { ...ALONE, manners: ['slow'], plain: 0, kinds: ['cancel'], faultEveryMs: 2_000 },
    ],
    [
      'a reservation outlives the URLs that are cancelled',
      'changelog: cancel',
      {
        ...ALONE,
        ofDefault: 0,
        manners: ['slow'],
        plain: 0,
        slots: 4,
        fetchers: 1,
        kinds: ['cancel'],
        faultEveryMs: 2_000,
      },
    ],
    [
      'what was not started is completed',
      'leases.md',
      {
        ...ALONE,
        kinds: ['lost second', 'slow link'],
        faultEveryMs: 2_500,
        slots: 60,
        manners: ['slow'],
        plain: 0,
        sites: 50,
        busySeconds: 60,
      },
    ],
    ['start grants a second time', 'leases.md', { ...ALONE, kinds: ['lost reply'], faultEveryMs: 100 }],
    [
      'a lease that is over is extended',
      'changelog: a lease whose time is over',
      {
        ...OTHERS,
        gateways: 1,
        manners: ['takes its time now and then', 'slow'],
        kinds: ['hang'],
        faultEveryMs: 20_000,
        busySeconds: 150,
      },
    ],
    [
      'a lease that is over is confirmed',
      'changelog: a lease whose time is over is not confirmed',
      {
        kinds: ['hang'],
        gateways: 1,
        faultEveryMs: 20_000,
        permits: 0,
        proxies: 0,
        sites: 40,
        busySeconds: 200,
        manners: ['connects slowly'],
        plain: 0,
      },
    ],
    [
      'record accepts any fence',
      'promise 3',
      {
        ...ALONE,
        manners: ['its robots.txt is slow'],
        plain: 0,
        kinds: ['crash point', 'freeze point', 'refetch'],
        points: ['robots.fetching', 'reap.before-record'],
        faultEveryMs: 500,
        busySeconds: 60,
      },
    ],
    [
      'an announced restart outlives what was granted after it',
      'promise 7',
      {
        kinds: ['announced restart', 'lost second'],
        manners: ['slow'],
        plain: 0,
        faultEveryMs: 8_000,
        permits: 0,
        proxies: 0,
        sites: 40,
        busySeconds: 200,
      },
    ],
  ] as const
).map(([mutant, of, options]) => ({
  name: mutant,
  mutant,
  of,
  options: options as InScripts['options'] & object,
  ...(CANNOT[mutant] === undefined ? {} : { cannot: CANNOT[mutant] }),
}))
