/** The agents, their targets, and the delays of lanes: every process of a fleet must agree on them. */
import { z } from 'zod'
import { addressRange, entriesOf, portNumber } from '../allow-lists.ts'
import { ROLES, type Setting, textThat, wholeNumber } from './setting.ts'

export const politeness = {
  DECORUM_AGENTS: {
    schema: z.string().optional(),
    means:
      'The agents: path of a JSON file, or inline JSON (agents.schema.json). The first is the default. Without it there is one agent, `decorum`.',
    reason: 'One built-in agent is enough for a first crawl.',
    roles: ROLES,
    fleet: 'identity',
  },
  DECORUM_CONTACT: {
    schema: z.string().optional(),
    means:
      'Who is responsible for the crawler: a URL or an e-mail address. It is the contact of the built-in agent, and stands first on the page for owners of sites; agents of DECORUM_AGENTS name theirs themselves.',
    reason: 'Only the operator knows whom a site owner should write to; without it only allowed addresses are visited.',
    roles: ROLES,
    fleet: 'restart',
  },
  DECORUM_ALLOW_ADDRESSES: {
    schema: textThat((text) => entriesOf(text).map(addressRange)).default(''),
    means:
      'Private and other guarded addresses that may be visited nevertheless: addresses or CIDR ranges, separated by commas.',
    reason: 'URLs and DNS answers are written by strangers, so only public addresses are visited.',
    roles: ['gateway', 'fetcher', 'permits', 'proxy', 'command'],
    fleet: 'restart',
  },
  DECORUM_ALLOW_PORTS: {
    schema: textThat((text) => entriesOf(text).map(portNumber)).default(''),
    means: 'Ports that may be visited although they belong to another protocol, separated by commas.',
    reason: 'A request to a mail server or a database is never a visit to a site.',
    roles: ['fetcher', 'permits', 'proxy', 'command'],
    fleet: 'restart',
  },
  DEFAULT_DELAY_MS: {
    schema: wholeNumber(0).default(1_000),
    unit: 'ms',
    means: 'The least delay of a lane, for agents without `minDelayMs`.',
    reason: 'One request a second is what sites without a crawl-delay are used to.',
    roles: ROLES,
    fleet: 'live',
  },
  MAX_DELAY_MS: {
    schema: wholeNumber(0).default(10_000),
    unit: 'ms',
    means:
      'The longest crawl-delay that is kept, for agents without `maxDelayMs`; longer ones are clamped, which `decorum origin` and the page of the origin in the console show.',
    reason: 'Cốc Cốc documents the same limit: no crawl-delay above 10 s.',
    roles: ROLES,
    fleet: 'live',
  },
  PACE_GROUPS: {
    schema: z.string().optional(),
    means:
      'Which lanes share a delay or a limit of requests in flight: path of a JSON file, or inline JSON (pace-groups.schema.json).',
    reason: 'Schemes and ports of one host share its delay; this needs no setting.',
    roles: ['fetcher', 'permits', 'proxy', 'command'],
    fleet: 'identity',
  },
  SITE_POLICIES: {
    schema: z.string().optional(),
    means:
      'What sites may be granted or ask for, such as longer delays, visiting hours and budgets: path of a JSON file, or inline JSON (site-policies.schema.json).',
    reason: 'Agents and robots.txt say how a site is visited; few sites need more.',
    roles: ['gateway', 'permits', 'proxy', 'command'],
    fleet: 'live',
  },
  MAX_ATTEMPTS: {
    schema: wholeNumber(1).default(5),
    means: 'Requests made for one candidate before it ends as `failed`.',
    reason: 'With back-offs that double from a minute, five attempts outlast a quarter of an hour of trouble.',
    roles: ['gateway', 'fetcher', 'permits'],
    fleet: 'live',
  },
  FETCH_DEADLINE_MS: {
    schema: wholeNumber(1).default(30_000),
    unit: 'ms',
    means: 'The longest that one exchange may take, from the DNS query to the last byte.',
    reason:
      'Slow but honest answers finish within it; a server that sends byte by byte does not hold a slot for longer.',
    roles: ['gateway', 'fetcher', 'proxy', 'command'],
    fleet: 'identity',
  },
  LEASE_MS: {
    schema: wholeNumber(1).default(45_000),
    unit: 'ms',
    means: 'How long a lease lasts if its fetcher does not complete it.',
    reason: 'The deadline of an exchange, the time until its request is sent, and the time to record its end.',
    roles: ROLES,
    fleet: 'identity',
  },
  QUARANTINE_MS: {
    schema: wholeNumber(0).default(10_000),
    unit: 'ms',
    means: 'Time added to the delay of a lane whose lease ended without a completion.',
    reason: 'A frozen fetcher may send its last packet late.',
    roles: ROLES,
    fleet: 'identity',
  },
  PERMIT_MAX_MS: {
    schema: wholeNumber(1_000).default(600_000),
    unit: 'ms',
    means: 'The longest life of a permit, all its extensions included, and of one request through the proxy.',
    reason: 'As long as the longest usual download of a crawler; a lane is not held for ever.',
    roles: ['permits', 'proxy'],
    fleet: 'live',
  },
  DECORUM_PERMIT_TOKENS: {
    schema: z.string().optional(),
    means:
      'Who may ask for permits or use the proxy: path of a JSON file, or inline JSON (permit-tokens.schema.json); required when HOST is not a loopback address.',
    reason: 'Without it permits and the proxy are for this machine alone.',
    roles: ['permits', 'proxy', 'command'],
  },
  BACK_OFF_MS: {
    schema: wholeNumber(1).default(60_000),
    unit: 'ms',
    means: 'First back-off after a 429 or 503 without Retry-After; it doubles per incident.',
    reason: 'A site that asks for less gets a whole minute, as other polite crawlers give it.',
    roles: ['gateway', 'fetcher', 'permits', 'proxy'],
    fleet: 'live',
  },
  ROBOTS_RETRY_MS: {
    schema: wholeNumber(1).optional(),
    unit: 'ms',
    means: 'First retry of a robots.txt that could not be fetched; later ones double.',
    reason: 'The policy profile of the agent sets it (docs/robots.md).',
    roles: ['gateway', 'permits', 'proxy'],
    fleet: 'live',
  },
} as const satisfies Record<string, Setting>
