/**
 * The settings that more than one service reads (design §4). Each service picks what it needs, adds its own, and
 * reads the environment once through `readSettings`.
 */
import { z } from 'zod'
import { readRedisAddress } from './redis-address.ts'

/** An empty variable counts as absent: compose files and shells write `X=` for "not set". */
const whole = (fallback: number, min = 0) => z.coerce.number().int().min(min).default(fallback)

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
  DECORUM_PARTITIONS: whole(1, 1).pipe(z.number().max(1024)),
  DECORUM_AGENTS: z.string().optional(), //  path of a JSON file, or inline JSON
  DECORUM_CONTACT: z.string().optional(), // contact of the built-in agent
  DECORUM_ALLOW_ADDRESSES: z.string().default(''), // CIDRs exempt from the address guard, separated by commas
  DECORUM_ALLOW_PORTS: z.string().default(''), //     ports exempt from the list of refused ones, separated by commas
  DEFAULT_GAP_MS: whole(1_000),
  MAX_GAP_MS: whole(10_000), //        Cốc Cốc: no crawl-delay above 10 s
  MAX_ATTEMPTS: whole(5, 1),
  FETCH_DEADLINE_MS: whole(30_000, 1), // DNS to last byte
  LEASE_MS: whole(45_000, 1), //       the deadline, plus the send window and time to settle
  QUARANTINE_MS: whole(10_000), //     added after an expired lease
  BACK_OFF_MS: whole(60_000, 1), //    first back-off after 429/503 without Retry-After; doubles per incident
  ROBOTS_RETRY_MS: z.coerce.number().int().min(1).optional(), // first retry; by policy when absent
  // What robots.txt bodies of more than 4 KiB, as they are stored, may take up in a partition: sixteen of the largest that is
  // read for one registrable domain, and as much for all as a Redis of a few GB can spare. Beyond it they live for an hour.
  ROBOTS_DOMAIN_MAX_BYTES: whole(8 * 1024 * 1024, 0),
  ROBOTS_BODIES_MAX_BYTES: whole(512 * 1024 * 1024, 0),
  LANE_LIMIT: whole(100_000, 1),
  OUTCOMES_LIMIT: whole(1_000_000, 1),
  PORT: z.coerce.number().int().min(0).max(65_535).default(0), // 0: any free port
  LOG_LEVEL: z.enum(['silent', 'error', 'warn', 'info', 'debug']).default('info'),
}

/** Wrong settings stop the start; the message is for the person who set them. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly code = 'SETTINGS'
}

/** Environment → values, once. @throws SettingsError naming each wrong variable and what is expected. */
export function readSettings<T extends z.ZodType>(schema: T, env: Record<string, string | undefined>): z.output<T> {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  )
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const lines = parsed.error.issues.map((issue) => `  ${issue.path.join('.') || 'settings'}: ${issue.message}`)
  throw new SettingsError(`wrong settings:\n${lines.join('\n')}`)
}

/** Relations that hold for the whole fleet: a lease outlives its deadline, the floor lies under the cap. */
export function checkRelations(c: {
  FETCH_DEADLINE_MS: number
  LEASE_MS: number
  DEFAULT_GAP_MS: number
  MAX_GAP_MS: number
}): void {
  if (c.FETCH_DEADLINE_MS >= c.LEASE_MS)
    throw new SettingsError('wrong settings:\n  FETCH_DEADLINE_MS: a fetch must end inside its lease (LEASE_MS)')
  if (c.DEFAULT_GAP_MS > c.MAX_GAP_MS)
    throw new SettingsError('wrong settings:\n  DEFAULT_GAP_MS: the floor of the gap lies under its cap (MAX_GAP_MS)')
}
