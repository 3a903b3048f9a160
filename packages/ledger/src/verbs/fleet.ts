/** fleet: the running processes, and the number of leases. */
import type { Scripts } from '../scripts.ts'

export type Member = { id: string; role: string; slots: number; about?: About }
/** The workers of a pool. `wanted`: the largest number of orders that they requested at once in the last minute. */
export type PoolDemand = { wanted: number }
/** Requests of one client of a proxy since the proxy started: the client, how many wait now, were sent, and were refused by the proxy. */
export type Passing = { agent: string; crawl?: string; token?: string; waiting: number; sent: number; refused: number }
/** The description that a process gives of itself, for people and for the gateways. */
export type About = {
  host: string
  pid: number
  /** version of the software */
  version: string
  /** commit that it was built from; absent: the version does not report it */
  commit?: string
  /** version of the fleet's configuration that it uses */
  config: number
  /** settings that it applies at its next start */
  pending: string[]
  /** whether it keeps pages */
  keepsPages?: boolean
  /** of a permits process: the workers of each pool that connect to it */
  pools?: Record<string, PoolDemand>
  /** of a proxy: the clients with most requests, as of some seconds ago */
  passing?: Passing[]
}

/** The requests of a client, as a text for people. */
export function passingText({ agent, crawl, token, waiting, sent, refused }: Passing): string {
  const whose = [agent, crawl && `crawl ${crawl}`, token && `token ${token}`].filter(Boolean).join(', ')
  return `${whose}: ${waiting} wait, ${sent} sent, ${refused} refused`
}

export type Roll = { leases: number; members: string[] }

/** Announces a process for `lifeMs`; 0 ends the announcement. Without `announced`, only reads. */
export async function fleet(scripts: Scripts, announced?: { member: Member; lifeMs: number }): Promise<Roll> {
  const member = announced === undefined ? '' : memberText(announced.member)
  const { values } = await scripts.call('fleet', { member, lifeMs: announced?.lifeMs ?? 0 })
  const [leases, ...members] = values
  return { leases: Number(leases), members }
}

function memberText({ role, id, slots, about }: Member): string {
  const member = `${role} ${id} ${slots}`
  return about === undefined ? member : `${member} ${encodeURIComponent(JSON.stringify(about))}`
}

/** The members in these texts, without duplicates: an earlier announcement of a process remains for some seconds. */
export function readMembers(texts: Iterable<string>): Member[] {
  const members = new Map<string, Member>()
  for (const text of texts) {
    const [role = '', id = '', slots, aboutText] = text.split(' ')
    const about = aboutText === undefined ? undefined : (JSON.parse(decodeURIComponent(aboutText)) as About)
    const before = members.get(id)?.about
    if (before !== undefined && (about === undefined || about.config < before.config)) continue
    members.set(id, { role, id, slots: Number(slots), ...(about === undefined ? {} : { about }) })
  }
  return [...members.values()]
}
