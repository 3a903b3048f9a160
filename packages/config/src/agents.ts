/** Crawler identities: their names, the robots.txt groups that they obey, and the bounds of their delays. */
import { PoolName } from '@decorum/protocol'
import { type ProfileName, policies } from '@decorum/robots'
import { z } from 'zod'
import { readJsonSetting } from './json-setting.ts'
import { readingSettings } from './read-settings.ts'
import type { SettingsOf } from './settings.ts'

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
const members = [...Object.keys(AgentEntry.shape), ...Object.keys(AdaptiveDelayEntry.shape)]
const FORM = { name: 'DECORUM_AGENTS', opens: '[', schema: AgentsFile, members } as const

/**
 * A proportional delay: after an exchange of t ms the delay is at least factor × t, within [floorMs, capMs]. It only lengthens the delay.
 */
export type AdaptiveDelay = { factor: number; floorMs: number; capMs: number }

type Entry = z.output<typeof AgentEntry>
type Decided<T> = { [K in keyof T]-?: Exclude<T[K], undefined> }

/** An entry of DECORUM_AGENTS with its defaults and derived members. */
export type Agent = Decided<Omit<Entry, 'adaptiveDelay' | 'pool'>> & {
  /** the name in lower case: used in lane names */
  key: string
  adaptiveDelay?: AdaptiveDelay
  /** the pool whose workers fetch its pages; absent: the fetchers of the fleet */
  pool?: string
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

/** The settings that define the agents. */
type AgentVariables = Pick<
  SettingsOf<'gateway'>,
  'DECORUM_AGENTS' | 'DECORUM_CONTACT' | 'DEFAULT_DELAY_MS' | 'MAX_DELAY_MS'
>

/** Members that a running process applies; every other member of an agent waits for the next start. */
export const LIVE_MEMBERS = [
  ...(['minDelayMs', 'maxDelayMs', 'adaptiveDelay'] as const),
  ...(['honourCrawlDelay', 'honourVisitTime', 'honourNoarchive'] as const),
]

/** Takes the live members of `next` over into the same agents of a running process. */
export function takeOverDelays(agents: Agents, next: Agents): void {
  for (const agent of agents.list) {
    const found = next.list.find(({ key }) => key === agent.key)
    if (found === undefined) continue
    delete agent.adaptiveDelay
    for (const name of LIVE_MEMBERS) if (found[name] !== undefined) Object.assign(agent, { [name]: found[name] })
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
  const entries = settings.agents ? agentEntries(settings.agents) : [builtIn(settings.contact)]
  const list = entries.map((entry) => agentOf(entry, settings))
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
export const agentEntries = (text: string): Entry[] => readJsonSetting(FORM, text)

function agentOf(entry: Entry, settings: AgentSettings): Agent {
  const { adaptiveDelay, pool, ...own } = entry
  const minDelayMs = own.minDelayMs ?? settings.defaultDelayMs
  const maxDelayMs = own.maxDelayMs ?? Math.max(settings.maxDelayMs, minDelayMs)
  if (minDelayMs > maxDelayMs)
    throw new Error(
      `DECORUM_AGENTS: ${own.name}: the minimum delay (${minDelayMs} ms) is above the maximum (${maxDelayMs} ms)`,
    )
  return {
    ...own,
    key: own.name.toLowerCase(),
    minDelayMs,
    maxDelayMs,
    honourCrawlDelay: own.honourCrawlDelay ?? policies[own.profile].crawlDelay,
    honourVisitTime: own.honourVisitTime ?? false,
    honourNoarchive: own.honourNoarchive ?? false,
    hasContact: CONTACT.test(own.userAgent),
    ...(adaptiveDelay === undefined ? {} : { adaptiveDelay: adaptiveDelayOf(own.name, adaptiveDelay, maxDelayMs) }),
    ...(pool === undefined ? {} : { pool }),
  }
}

function adaptiveDelayOf(name: string, given: z.output<typeof AdaptiveDelayEntry>, most: number): AdaptiveDelay {
  const { factor, floorMs = 0, capMs = most } = given
  if (floorMs > capMs)
    throw new Error(
      `DECORUM_AGENTS: ${name}: the minimum of the adaptive delay (${floorMs} ms) is above its maximum (${capMs} ms)`,
    )
  return { factor, floorMs, capMs }
}

function builtIn(contact: string | undefined): Entry {
  if (contact && (!CONTACT.test(contact) || !/^[\x21-\x7e]+$/.test(contact))) {
    throw new Error(`DECORUM_CONTACT: a URL (https://…) or an e-mail address is needed, not '${contact}'`)
  }
  const userAgent = contact ? `Mozilla/5.0 (compatible; decorum/0.2; +${contact})` : 'decorum/0.2 (no contact given)'
  return { name: 'decorum', fallbacks: [], userAgent, profile: 'decorum', http2: true }
}
