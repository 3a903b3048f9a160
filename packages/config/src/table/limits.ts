/** Limits of the data in Redis, and how often it may be requested: the same for the whole fleet. */
import { MAX_PARTITIONS } from '@decorum/protocol'
import { ROLES, type Setting, wholeNumber } from './setting.ts'

export const limits = {
  DECORUM_PARTITIONS: {
    schema: wholeNumber(1, MAX_PARTITIONS).default(1),
    unit: 'partitions',
    means: 'Slices of all hosts, each in a hash slot of its own (docs/cluster.md).',
    reason: 'A single Redis needs no more; a cluster needs several per master.',
    roles: ROLES,
    fleet: 'identity',
  },
  LANE_LIMIT: {
    schema: wholeNumber(1).default(100_000),
    unit: 'URLs',
    means:
      'URLs that may be pending in one lane; beyond it they end as `refused: lane-full`. A fleet that `decorum up` or `decorum crawl` has begun has 10000000 unless it is set.',
    reason: 'At one request a second that is more than a day of work, and a URL is kept for a day.',
    roles: ['gateway'],
    fleet: 'live',
  },
  OUTCOMES_LIMIT: {
    schema: wholeNumber(1).default(1_000_000),
    unit: 'outcomes',
    means:
      'Unread outcomes of a partition beyond which nothing more is dispatched, and intake gives no more outcomes, until a reader acknowledges some.',
    reason: 'A reader may be away for hours, and Redis does not fill up: waiting is better than losing outcomes.',
    roles: ['gateway', 'console'],
    fleet: 'live',
  },
  RESERVE_MS: {
    schema: wholeNumber(1_000).default(30_000),
    unit: 'ms',
    means: 'How long a reserved lane waits for a fetcher to start its order; then it is due again.',
    reason: 'Longer than orders wait in a busy fleet, but short enough that a lost order costs little time.',
    roles: ['gateway', 'permits', 'proxy'],
    fleet: 'restart',
  },
  INTAKE_LOCK_MS: {
    schema: wholeNumber(1_000).default(30_000),
    unit: 'ms',
    means: 'A job of candidates whose gateway died is delivered again after this, at the latest after twice this.',
    reason: 'A thousand candidates are stored well within it, also on a busy machine.',
    roles: ['gateway'],
    fleet: 'restart',
  },
} as const satisfies Record<string, Setting>
