/**
 * The settings that more than one service reads (docs/spec/design.md §4). Each service picks what it needs, adds its own, and
 * reads the environment once through `readSettings`.
 */

import { readRedisAddress } from '@decorum/protocol'
import { z } from 'zod'
import { wrongValues } from './wrong-value.ts'

/** A whole number within bounds. Every numeric setting is one of these, so that each says alike what is right. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const most = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  const needed = `a whole number ${most} is needed`
  return z.coerce.number(needed).int(needed).min(min, needed).max(max, needed)
}
const whole = (fallback: number, min = 0) => wholeNumber(min).default(fallback)

/** Kept as the text it is; `readRedisAddress` says what it names. */
const redisUrl = () =>
  z.string({ error: 'a Redis address such as redis://127.0.0.1:6379 is needed' }).superRefine((text, context) => {
    try {
      readRedisAddress(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
    }
  })

export const common = {
  REDIS_URL: redisUrl(),
  DECORUM_PARTITIONS: wholeNumber(1, 1024).default(1),
  DECORUM_AGENTS: z.string().optional(), //  path of a JSON file, or inline JSON
  DECORUM_CONTACT: z.string().optional(), // contact of the built-in agent
  DECORUM_ALLOW_ADDRESSES: z.string().default(''), // CIDRs exempt from the address guard, separated by commas
  DECORUM_ALLOW_PORTS: z.string().default(''), //     ports exempt from the list of refused ones, separated by commas
  DEFAULT_DELAY_MS: whole(1_000),
  MAX_DELAY_MS: whole(10_000), //        Cốc Cốc: no crawl-delay above 10 s
  MAX_ATTEMPTS: whole(5, 1),
  FETCH_DEADLINE_MS: whole(30_000, 1), // DNS to last byte
  LEASE_MS: whole(45_000, 1), //       the deadline, plus the send window and time to settle
  QUARANTINE_MS: whole(10_000), //     added after an expired lease
  BACK_OFF_MS: whole(60_000, 1), //    first back-off after 429/503 without Retry-After; doubles per incident
  ROBOTS_RETRY_MS: wholeNumber(1).optional(), // first retry; by policy when absent
  // What robots.txt bodies of more than 4 KiB, as they are stored, may take up in a partition: sixteen of the largest that is
  // read for one registrable domain, and as much for all as a Redis of a few GB can spare. Beyond it they live for an hour.
  ROBOTS_DOMAIN_MAX_BYTES: whole(8 * 1024 * 1024, 0),
  ROBOTS_BODIES_MAX_BYTES: whole(512 * 1024 * 1024, 0),
  LANE_LIMIT: whole(100_000, 1),
  OUTCOMES_LIMIT: whole(1_000_000, 1),
  PORT: wholeNumber(0, 65_535).default(0), // 0: any free port
  LOG_LEVEL: z.enum(['silent', 'error', 'warn', 'info', 'debug']).default('info'),
}

/** Wrong settings stop the start; the message is for the person who set them. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly code = 'SETTINGS'
}

/**
 * Environment → values, once. An empty variable counts as absent: compose files and shells write `X=` for "not set".
 * @throws SettingsError naming each wrong variable, what is right and what was given
 */
export function readSettings<T extends z.ZodType>(schema: T, env: Record<string, string | undefined>): z.output<T> {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  )
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  throw new SettingsError(wrongSettings(wrongValues(parsed.error, given)))
}

/** The message of a SettingsError. */
const wrongSettings = (lines: string[]): string => ['wrong settings:', ...lines.map((line) => `  ${line}`)].join('\n')

/** Whatever a reader of settings throws, the person who set them hears it as such. @param variable  for errors that do not name it */
export function readingSettings<T>(read: () => T, variable?: string): T {
  try {
    return read()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new SettingsError(wrongSettings([variable === undefined ? message : `${variable}: ${message}`]))
  }
}

/** Relations that hold for the whole fleet: a lease outlives its deadline, the floor lies under the cap. */
export function checkRelations(c: {
  FETCH_DEADLINE_MS: number
  LEASE_MS: number
  DEFAULT_DELAY_MS: number
  MAX_DELAY_MS: number
}): void {
  if (c.FETCH_DEADLINE_MS >= c.LEASE_MS)
    throw new SettingsError(
      wrongSettings([
        `FETCH_DEADLINE_MS: a fetch must end inside its lease, and ${c.FETCH_DEADLINE_MS} is not under LEASE_MS=${c.LEASE_MS}`,
      ]),
    )
  if (c.DEFAULT_DELAY_MS > c.MAX_DELAY_MS)
    throw new SettingsError(
      wrongSettings([
        `DEFAULT_DELAY_MS: the floor of the delay lies under its cap, and ${c.DEFAULT_DELAY_MS} is above MAX_DELAY_MS=${c.MAX_DELAY_MS}`,
      ]),
    )
}
