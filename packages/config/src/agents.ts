/** Crawler identities: who we say we are, whose rules we read, how fast we may be. */
import { z } from 'zod'
import { readJsonSetting } from './json-setting.ts'
import { wrongValues } from './wrong-value.ts'

/**
 * A lane whose agent a process does not know is left alone for this long: long enough that such lanes cost little, short
 * enough that they go on soon after a rolling deploy has ended.
 */
export const UNKNOWN_AGENT_WAIT_MS = 10_000

const PROFILES = ['decorum', 'rfc9309', 'google', 'google-2022', 'coccoc'] as const

const token = z.string().regex(/^[A-Za-z_-]{1,64}$/, 'a product token is made of letters, _ and - (RFC 9309 §2.2.1)')
/** Printable ASCII: header values of other octets are read differently by every server. */
const headerValue = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[\x20-\x7e]+$/, 'a User-Agent is printable ASCII')
const CONTACT = /https?:\/\/[^\s)]+|[^\s@;(]+@[^\s@;)]+\.[a-z]+/i

const AdaptiveDelayEntry = z.strictObject({
  factor: z.number().positive().max(1_000),
  floorMs: z.int().min(0).optional(),
  capMs: z.int().min(0).optional(),
})

const AgentEntry = z
  .strictObject({
    name: token,
    fallbacks: z.array(token).max(8).default([]),
    userAgent: headerValue.refine(
      (value) => CONTACT.test(value),
      'a User-Agent names a contact: a URL or an e-mail address',
    ),
    profile: z.enum(PROFILES).default('decorum'),
    minDelayMs: z.int().min(0).optional(),
    maxDelayMs: z.int().min(0).optional(),
    adaptiveDelay: AdaptiveDelayEntry.optional(),
    /** `google` and `google-2022` do not support crawl-delay; true keeps it all the same (docs/spec/robots.md §5) */
    honourCrawlDelay: z.boolean().optional(),
  })
  .refine((a) => (a.minDelayMs ?? 0) <= (a.maxDelayMs ?? Number.POSITIVE_INFINITY), 'minDelayMs lies under maxDelayMs')

/**
 * Rest in proportion: after an exchange that took t ms the lane rests at least factor × t, within [floorMs, capMs]. Only
 * ever longer than the delay that is owed anyway.
 */
export type AdaptiveDelay = { factor: number; floorMs: number; capMs: number }

export type Agent = {
  /** product token as written: what robots.txt is asked for */
  name: string
  /** lower case: what lanes are named after */
  key: string
  fallbacks: string[]
  userAgent: string
  profile: (typeof PROFILES)[number]
  /** floor and cap of the delay, ms */
  minDelayMs: number
  maxDelayMs: number
  adaptiveDelay?: AdaptiveDelay
  honourCrawlDelay: boolean
  /** false: nobody could complain, so only opened addresses are visited */
  hasContact: boolean
}

/** The agents of a fleet; the first is the default. Look-ups do not care for case. */
export type Agents = { list: Agent[]; default: Agent; find(name: string | undefined): Agent | undefined }

export type AgentSettings = {
  /** path of a JSON file, or inline JSON; empty: the built-in agent */
  agents?: string | undefined
  /** contact of the built-in agent: URL or e-mail; empty: none */
  contact?: string | undefined
  defaultDelayMs: number
  maxDelayMs: number
}

/** @throws Error with a message for people when the file cannot be read or does not hold what it should. */
export function loadAgents(settings: AgentSettings): Agents {
  const list = settings.agents ? fromText(settings.agents, settings) : [builtIn(settings)]
  const byKey = new Map(list.map((agent) => [agent.key, agent]))
  if (byKey.size !== list.length) throw new Error('DECORUM_AGENTS: two agents have the same name (case does not count)')
  const [first] = list
  if (first === undefined) throw new Error('DECORUM_AGENTS: at least one agent is needed')
  return { list, default: first, find: (name) => (name === undefined ? first : byKey.get(name.toLowerCase())) }
}

function fromText(text: string, settings: AgentSettings): Agent[] {
  const json = readJsonSetting('DECORUM_AGENTS', '[', text)
  const parsed = z.array(AgentEntry).min(1).max(64).safeParse(json)
  if (!parsed.success) throw new Error(wrongValues(parsed.error, json, 'DECORUM_AGENTS').join('\n  '))
  return parsed.data.map((entry) => {
    const minDelayMs = entry.minDelayMs ?? settings.defaultDelayMs
    const maxDelayMs = entry.maxDelayMs ?? Math.max(settings.maxDelayMs, minDelayMs)
    if (minDelayMs > maxDelayMs)
      throw new Error(
        `DECORUM_AGENTS: ${entry.name}: the floor of the delay (${minDelayMs} ms) lies above its cap (${maxDelayMs} ms)`,
      )
    const adaptiveDelay = adaptiveDelayOf(entry, maxDelayMs)
    return {
      name: entry.name,
      key: entry.name.toLowerCase(),
      fallbacks: entry.fallbacks,
      userAgent: entry.userAgent,
      profile: entry.profile,
      minDelayMs,
      maxDelayMs,
      ...(adaptiveDelay === undefined ? {} : { adaptiveDelay }),
      honourCrawlDelay: entry.honourCrawlDelay ?? (entry.profile !== 'google' && entry.profile !== 'google-2022'),
      hasContact: true,
    }
  })
}

function adaptiveDelayOf(
  { name, adaptiveDelay }: z.infer<typeof AgentEntry>,
  maxDelayMs: number,
): AdaptiveDelay | undefined {
  if (adaptiveDelay === undefined) return undefined
  const { factor, floorMs = 0, capMs = maxDelayMs } = adaptiveDelay
  if (floorMs > capMs)
    throw new Error(
      `DECORUM_AGENTS: ${name}: the floor of the adaptive delay (${floorMs} ms) lies above its cap (${capMs} ms)`,
    )
  return { factor, floorMs, capMs }
}

function builtIn({ contact, defaultDelayMs, maxDelayMs }: AgentSettings): Agent {
  if (contact && (!CONTACT.test(contact) || !/^[\x21-\x7e]+$/.test(contact))) {
    throw new Error(`DECORUM_CONTACT: a URL (https://…) or an e-mail address is needed, not '${contact}'`)
  }
  return {
    name: 'decorum',
    key: 'decorum',
    fallbacks: [],
    userAgent: contact ? `Mozilla/5.0 (compatible; decorum/0.1; +${contact})` : 'decorum/0.1 (no contact given)',
    profile: 'decorum',
    minDelayMs: defaultDelayMs,
    maxDelayMs,
    honourCrawlDelay: true,
    hasContact: Boolean(contact),
  }
}
