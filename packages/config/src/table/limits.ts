/** Limits of what is stored in Redis, and how often it may be asked for: the same for the whole fleet. */
import { MAX_PARTITIONS } from '@decorum/protocol'
import { type Setting, wholeNumber } from './setting.ts'

export const limits = {
  DECORUM_PARTITIONS: {
    schema: wholeNumber(1, MAX_PARTITIONS).default(1),
    unit: 'partitions',
    means: 'Slices of all hosts, each in a hash slot of its own (docs/cluster.md).',
    reason: 'A single Redis needs no more; a cluster needs several per master.',
    roles: ['gateway', 'fetcher', 'console', 'permits', 'proxy', 'command'],
    scope: 'fleet',
    change: 'identity',
  },
  LANE_LIMIT: {
    schema: wholeNumber(1).default(100_000),
    unit: 'URLs',
    means: 'URLs that may be pending in one lane; beyond it they end as `refused: lane-full`.',
    reason: 'At one request a second that is more than a day of work, and a URL is kept for a day.',
    roles: ['gateway'],
    scope: 'fleet',
    change: 'live',
  },
  OUTCOMES_LIMIT: {
    schema: wholeNumber(1).default(1_000_000),
    unit: 'outcomes',
    means:
      'Unread outcomes of a partition beyond which nothing more is dispatched, and intake gives no more outcomes, until a reader acknowledges some.',
    reason: 'A reader may be away for hours, and Redis does not fill up: waiting is better than losing outcomes.',
    roles: ['gateway', 'console'],
    scope: 'fleet',
    change: 'live',
  },
  FORGET_READERS_AFTER_MS: {
    schema: wholeNumber(0).default(0),
    unit: 'ms',
    means:
      'A consumer group is forgotten when no reader was active under its name for so long and an outcome has waited for it that long; 0: never. At least 600,000.',
    reason: 'This gives up outcomes that were not acknowledged, so it is off unless an operator sets it.',
    roles: ['gateway'],
    scope: 'fleet',
    change: 'live',
  },
  ROBOTS_DOMAIN_MAX_BYTES: {
    schema: wholeNumber(0).default(8 * 1024 * 1024),
    unit: 'bytes',
    means:
      'What robots.txt bodies of one registrable domain may take up in a partition; beyond it they are kept for an hour.',
    reason: 'Sixteen bodies of the largest size that is read.',
    roles: ['gateway', 'fetcher'],
    scope: 'fleet',
    change: 'live',
  },
  ROBOTS_BODIES_MAX_BYTES: {
    schema: wholeNumber(0).default(512 * 1024 * 1024),
    unit: 'bytes',
    means: 'What robots.txt bodies of all domains may take up in a partition; beyond it they are kept for an hour.',
    reason: 'As much as a Redis of a few gigabytes can spare.',
    roles: ['gateway', 'fetcher'],
    scope: 'fleet',
    change: 'live',
  },
  RESERVE_MS: {
    schema: wholeNumber(1_000).default(30_000),
    unit: 'ms',
    means: 'How long a reserved lane waits for a fetcher to start its order; then it is due again.',
    reason: 'Longer than orders wait in a busy fleet, but short enough that a lost order costs little time.',
    roles: ['gateway', 'permits', 'proxy'],
    scope: 'fleet',
    change: 'restart',
  },
  INTAKE_LOCK_MS: {
    schema: wholeNumber(1_000).default(30_000),
    unit: 'ms',
    means: 'A job of candidates whose gateway died is delivered again after this, at the latest after twice this.',
    reason: 'A thousand candidates are stored well within it, also on a busy machine.',
    roles: ['gateway'],
    scope: 'fleet',
    change: 'restart',
  },
} as const satisfies Record<string, Setting>
