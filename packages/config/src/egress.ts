/** Parses EGRESS: the way by which the requests of an agent leave this machine. It may hold passwords, so it is never quoted. */
import { isIP } from 'node:net'
import { z } from 'zod'
import { readJsonSetting } from './json-setting.ts'

/** With neither member: the default route of this machine. */
export type Egress = {
  /** an address of this machine */
  localAddress?: string
  proxy?: ForwardProxy
}

export type ForwardProxy = {
  /** scheme, host and port, without the login: may be shown */
  origin: string
  /** value of a Proxy-Authorization header */
  authorization?: string
}

/** Name of the entry for all agents without one of their own. */
const OTHERS = '*'

function proxyAddress(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '' && url.hash === ''
}

const Entry = z
  .strictObject({
    localAddress: z
      .string()
      .refine((text) => isIP(text) !== 0 && !text.includes('%'), 'an IP address of this machine is needed')
      .optional()
      .meta({ description: 'address of this machine that requests are sent from' }),
    proxy: z
      .string()
      .refine(proxyAddress, 'an address such as http://user:password@proxy.example.net:3128 is needed')
      .optional()
      .meta({
        description:
          'HTTP proxy, with its login if it wants one; it has to allow CONNECT to every address and port visited',
      }),
  })
  .refine(
    ({ localAddress, proxy }) => (localAddress === undefined) !== (proxy === undefined),
    'either localAddress or proxy is needed',
  )
export const EgressFile = z.record(z.string(), Entry)
const FORM = {
  name: 'EGRESS',
  opens: '{',
  schema: EgressFile,
  members: Object.keys(Entry.shape),
  isSecret: true,
} as const

/** How an agent's requests leave this machine. @param agent  its `key` */
export type EgressOf = (agent: string) => Egress

/**
 * @param text    path of a JSON file, or inline JSON; '': every agent uses the default route
 * @param agents  keys of the agents of the fleet
 * @throws        Error with a message for people, which quotes no login
 */
export function readEgress(text: string, agents: readonly string[]): EgressOf {
  if (text === '') return () => ({})
  const ways = new Map<string, Egress>()
  for (const [name, entry] of Object.entries(readJsonSetting(FORM, text))) {
    const key = name.toLowerCase()
    if (key !== OTHERS && !agents.includes(key))
      throw new Error(`EGRESS: there is no agent '${name}'; there are ${[...agents, OTHERS].join(', ')}`)
    if (ways.has(key)) throw new Error(`EGRESS: two entries are for '${key}' (case does not count)`)
    ways.set(key, wayOf(entry))
  }
  const others = ways.get(OTHERS) ?? {}
  return (agent) => ways.get(agent) ?? others
}

function wayOf({ localAddress, proxy }: z.output<typeof Entry>): Egress {
  if (proxy === undefined) return localAddress === undefined ? {} : { localAddress }
  const { origin, username, password } = new URL(proxy)
  if (username === '' && password === '') return { proxy: { origin } }
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return { proxy: { origin, authorization: `Basic ${login}` } }
}
