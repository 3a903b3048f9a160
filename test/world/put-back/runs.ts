/** Options of runs that look for faults of some kind. */

/** Where hosts share their pace, and crawlers of others ask. */
export const OTHERS = { crawlers: 8, sites: 12, plain: 0.2, busySeconds: 40, faultEveryMs: 1_000, fetchers: 2 }
/** Nothing goes wrong: how fast it is shows what nobody is waited for. */
export const CALM = { faultEveryMs: 0, permits: 0, proxies: 0, sites: 40, busySeconds: 30 } as const
/** What is lost shows when nothing comes any more: nobody but the fleet makes requests. */
export const ALONE = { permits: 0, proxies: 0, sites: 24, busySeconds: 20 } as const
/** Processes come and go, so that one that has just started may be the first to see a leap. */
export const LEAPS = {
  leaps: true,
  kinds: ['clock leap', 'crash', 'restart'],
  faultEveryMs: 1_500,
  sites: 24,
  busySeconds: 60,
} as const
export const LOSSES = { kinds: ['lost second', 'restart'], faultEveryMs: 15_000, sites: 24, busySeconds: 60 } as const
/** Orders wait for slots, and exchanges take long. */
export const QUEUES = { slots: 4, fetchers: 2, sites: 24, plain: 0.1, busySeconds: 40, faultEveryMs: 2_000 } as const
export const OPERATORS = {
  kinds: ['stop', 'pause', 'block', 'crawl', 'cancel', 'delay', 'configuration', 'policy', 'slow link', 'crash'],
  faultEveryMs: 600,
  sites: 24,
  plain: 0.3,
  busySeconds: 40,
} as const

/** Nothing goes wrong, so that each answer reaches Redis, and nobody else asks: what a site asks for has to be kept at once (shut.ts). */
export const AT_EASE = {
  kinds: ['refetch', 'pause', 'block', 'crawl'],
  faultEveryMs: 1_000,
  permits: 0,
  proxies: 0,
  sites: 30,
  plain: 0,
  busySeconds: 25,
} as const
/** The number of partitions changes again and again, and policies outlast that. */
export const MOVES = {
  ...ALONE,
  kinds: ['partitions', 'partitions', 'partitions', 'partitions', 'policy'],
  faultEveryMs: 2_000,
  sites: 8,
  plain: 0.5,
  busySeconds: 120,
} as const
/** Nobody has seen the time pass, or many calls come late. */
export const BLACKOUTS = {
  ...ALONE,
  leaps: false,
  kinds: ['blackout', 'hang'],
  faultEveryMs: 6_000,
  sites: 8,
  busySeconds: 40,
  fetchers: 2,
} as const
/** Sites with other ports ask for a longer delay than the fleet's own. */
export const SLOWER = { ...CALM, sites: 12, plain: 0, busySeconds: 6, manners: ['asks for three seconds'] } as const
/** Exchanges take longer than short leases. */
export const LONG = ['takes its time now and then', 'never answers now and then', 'slow'] as const
/** Delays become longer while they run, and while requests are in flight. */
export const LONGER = { ...OPERATORS, kinds: ['delay', 'policy', 'configuration', 'refetch', 'crash'] } as const
/** Lanes are held by what operators do. */
export const HELD = { ...OPERATORS, kinds: ['stop', 'pause', 'block', 'refetch'], faultEveryMs: 1_000 } as const

/** Sites that ask for less, each several times. */
export const LESS = {
  manners: ['asks for less now and then'],
  plain: 0,
  sites: 12,
  busySeconds: 40,
  faultEveryMs: 0,
} as const
