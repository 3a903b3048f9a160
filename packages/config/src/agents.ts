/** Crawler identities: their names, the robots.txt groups that they obey, and the bounds of their delays. */
import { PoolName } from '@decorum/protocol'
import { type ProfileName, policies } from '@decorum/robots'
import { z } from 'zod'
import { readJsonSetting } from './json-setting.ts'
import { readingSettings } from './read-settings.ts'
import { wrongValues } from './wrong-value.ts'

/**
 * A lane whose agent a process does not know is deferred for this long: long enough that such lanes cost little, short enough that they
 * continue soon after a rolling deploy has ended.
 */
export const UNKNOWN_AGENT_WAIT_MS = 10_000

/** The policy profiles, as @decorum/robots has them. */
const PROFILES = Object.keys(policies) as [ProfileName, ...ProfileName[]]

const token = z.string().regex(/^[A-Za-z_-]{1,64}$/, 'a product token is made of letters, _ and - (RFC 9309 §2.2.1)')
/** Printable ASCII: servers differ in how they read other bytes of a header value. */
const headerValue = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[\x20-\x7e]+$/, 'a User-Agent is printable ASCII')
const CONTACT = /https?:\/\/[^\s)]+|[^\s@;(]+@[^\s@;)]+\.[a-z]+/i

/** The contact that a User-Agent names: the first URL or e-mail address in it. */
export const contactIn = (userAgent: string): string | undefined =>
  CONTACT.exec(userAgent)?.[0].replace(/^(\+|mailto:)+/i, '')

const AdaptiveDelayEntry = z.strictObject({
  factor: z.number().positive().max(1_000).meta({ description: 'times what the exchange took' }),
  floorMs: z.int().min(0).optional().meta({ description: 'at least, ms; default 0' }),
  capMs: z.int().min(0).optional().meta({ description: 'at most, ms; default maxDelayMs' }),
})

const AgentEntry = z
  .strictObject({
    name: token.meta({ description: 'product token: the name that groups of a robots.txt are matched with' }),
    fallbacks: z
      .array(token)
      .max(8)
      .default([])
      .meta({ description: 'product tokens whose group is obeyed when there is none for `name`' }),
    userAgent: headerValue
      .refine((value) => CONTACT.test(value), 'a User-Agent names a contact: a URL or an e-mail address')
      .meta({ description: 'the whole User-Agent header, with a URL or an e-mail address as contact' }),
    profile: z
      .enum(PROFILES)
      .default('decorum')
      .meta({ description: 'how robots.txt is read (docs/robots-differences.md)' }),
    minDelayMs: z.int().min(0).optional().meta({ description: 'least delay, ms; default DEFAULT_DELAY_MS' }),
    maxDelayMs: z
      .int()
      .min(0)
      .optional()
      .meta({ description: 'longest crawl-delay that is kept, ms; default MAX_DELAY_MS' }),
    adaptiveDelay: AdaptiveDelayEntry.optional().meta({
      description: 'a longer delay after a slow exchange; never a shorter one',
    }),
    honourCrawlDelay: z.boolean().optional().meta({
      description: 'whether crawl-delay counts; default: as the profile has it (google and google-2022 ignore it)',
    }),
    pool: PoolName.optional().meta({
      description:
        'its pages are fetched by the workers of this pool (docs/pools.md); absent: by the fetchers of the fleet',
    }),
    honourVisitTime: z.boolean().optional().meta({
      description: 'whether pages wait for the `Visit-time` of robots.txt (UTC); default: false',
    }),
    honourNoarchive: z.boolean().optional().meta({
      description:
        'whether pages that say `noarchive` (X-Robots-Tag, meta robots) are left out of what the fleet keeps; their outcomes then have no `archive`. It asks search engines not to show a copy, so by default they are kept, for the frontier',
    }),
    http2: z
      .boolean()
      .default(true)
      .meta({ description: 'whether HTTP/2 is spoken with sites that offer it, one request at a time as ever' }),
  })
  .refine(
    (a) => (a.minDelayMs ?? 0) <= (a.maxDelayMs ?? Number.POSITIVE_INFINITY),
    'minDelayMs must not exceed maxDelayMs',
  )

/** The content of DECORUM_AGENTS. */
export const AgentsFile = z.array(AgentEntry).min(1).max(64)
const MEMBERS = [...Object.keys(AgentEntry.shape), ...Object.keys(AdaptiveDelayEntry.shape)]

/**
 * A proportional delay: after an exchange of t ms the delay is at least factor × t, within [floorMs, capMs]. It only lengthens the delay.
 */
export type AdaptiveDelay = { factor: number; floorMs: number; capMs: number }

export type Agent = {
  /** product token as written: matched in robots.txt */
  name: string
  /** lower case: used in lane names */
  key: string
  fallbacks: string[]
  userAgent: string
  profile: ProfileName
  /** least and longest delay, ms */
  minDelayMs: number
  maxDelayMs: number
  adaptiveDelay?: AdaptiveDelay
  honourCrawlDelay: boolean
  /** the pool whose workers fetch its pages; absent: the fetchers of the fleet */
  pool?: string
  honourVisitTime: boolean
  /** whether pages with `noarchive` are left out of the archive */
  honourNoarchive: boolean
  /** whether HTTP/2 is used with sites that offer it (over TLS) */
  http2: boolean
  /** false: a site owner would have no contact, so only addresses of DECORUM_ALLOW_ADDRESSES are requested */
  hasContact: boolean
}

/** The agents of a fleet; the first is the default. Names are matched without regard to case. */
export type Agents = { list: Agent[]; default: Agent; find(name: string | undefined): Agent | undefined }

export type AgentSettings = {
  /** path of a JSON file, or inline JSON; empty: the built-in agent */
  agents?: string | undefined
  /** contact of the built-in agent: URL or e-mail; empty: none */
  contact?: string | undefined
  defaultDelayMs: number
  maxDelayMs: number
}

/** The four settings that define the agents. */
type AgentVariables = {
  DECORUM_AGENTS?: string | undefined
  DECORUM_CONTACT?: string | undefined
  DEFAULT_DELAY_MS: number
  MAX_DELAY_MS: number
}

/**
 * Applies the new delays and `honour…` settings of known agents to a running process; everything else of an agent waits for the next start.
 */
export function takeOverDelays(agents: Agents, next: Agents): void {
  for (const agent of agents.list) {
    const found = next.list.find(({ key }) => key === agent.key)
    if (found === undefined) continue
    const { minDelayMs, maxDelayMs, honourCrawlDelay, honourVisitTime, honourNoarchive, adaptiveDelay } = found
    Object.assign(agent, { minDelayMs, maxDelayMs, honourCrawlDelay, honourVisitTime, honourNoarchive })
    if (adaptiveDelay === undefined) delete agent.adaptiveDelay
    else agent.adaptiveDelay = adaptiveDelay
  }
}

/** @throws SettingsError when the agents cannot be read or are invalid */
export const agentsOf = (c: AgentVariables): Agents =>
  readingSettings(() =>
    loadAgents({
      agents: c.DECORUM_AGENTS,
      contact: c.DECORUM_CONTACT,
      defaultDelayMs: c.DEFAULT_DELAY_MS,
      maxDelayMs: c.MAX_DELAY_MS,
    }),
  )

/** @throws Error with a message for people when the file cannot be read or is invalid */
export function loadAgents(settings: AgentSettings): Agents {
  const list = settings.agents ? fromText(settings.agents, settings) : [builtIn(settings)]
  const byKey = new Map(list.map((agent) => [agent.key, agent]))
  if (byKey.size !== list.length) throw new Error('DECORUM_AGENTS: two agents have the same name (case does not count)')
  const [first] = list
  if (first === undefined) throw new Error('DECORUM_AGENTS: at least one agent is needed')
  return { list, default: first, find: (name) => (name === undefined ? first : byKey.get(name.toLowerCase())) }
}

/**
 * The content of DECORUM_AGENTS, with its members unchanged.
 * @throws Error with a message for people when the file cannot be read or is invalid
 */
export function agentEntries(text: string): z.output<typeof AgentsFile> {
  const json = readJsonSetting('DECORUM_AGENTS', '[', text)
  const parsed = AgentsFile.safeParse(json)
  if (!parsed.success) throw new Error(wrongValues(parsed.error, json, 'DECORUM_AGENTS', MEMBERS).join('\n  '))
  return parsed.data
}

function fromText(text: string, settings: AgentSettings): Agent[] {
  return agentEntries(text).map((entry) => {
    const minDelayMs = entry.minDelayMs ?? settings.defaultDelayMs
    const maxDelayMs = entry.maxDelayMs ?? Math.max(settings.maxDelayMs, minDelayMs)
    if (minDelayMs > maxDelayMs)
      throw new Error(
        `DECORUM_AGENTS: ${entry.name}: the minimum delay (${minDelayMs} ms) is above the maximum (${maxDelayMs} ms)`,
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
      honourCrawlDelay: entry.honourCrawlDelay ?? policies[entry.profile].crawlDelay,
      honourVisitTime: entry.honourVisitTime ?? false,
      honourNoarchive: entry.honourNoarchive ?? false,
      http2: entry.http2,
      hasContact: true,
      ...(entry.pool === undefined ? {} : { pool: entry.pool }),
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
      `DECORUM_AGENTS: ${name}: the minimum of the adaptive delay (${floorMs} ms) is above its maximum (${capMs} ms)`,
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
    userAgent: contact ? `Mozilla/5.0 (compatible; decorum/0.2; +${contact})` : 'decorum/0.2 (no contact given)',
    profile: 'decorum',
    minDelayMs: defaultDelayMs,
    maxDelayMs,
    honourCrawlDelay: true,
    honourVisitTime: false,
    honourNoarchive: false,
    http2: true,
    hasContact: Boolean(contact),
  }
}
