/** fleet: which processes run, and how many leases there are. */
import type { Scripts } from '../scripts.ts'

export type Member = { id: string; role: string; slots: number; about?: About }
/** Workers of a pool. `wanted`: orders that they asked for at once, at most, in the last minute. */
export type PoolDemand = { wanted: number }
/** Requests of one client of a proxy, since the proxy was started: whose they are, how many wait now, were sent, and were refused by it. */
export type Passing = { agent: string; crawl?: string; token?: string; waiting: number; sent: number; refused: number }
/** What a process says of itself to people, and to the gateways. */
export type About = {
  host: string
  pid: number
  /** of the software */
  version: string
  /** that it was made from; absent: of a version that does not say */
  commit?: string
  /** version of the fleet's configuration that it goes by */
  config: number
  /** settings that it takes over when it is started again */
  pending: string[]
  /** whether it keeps pages */
  keepsPages?: boolean
  /** of permits processes: the workers of each pool that come to it */
  pools?: Record<string, PoolDemand>
  /** of proxies: the clients that most goes through for, as of some seconds ago */
  passing?: Passing[]
}

/** For people. */
export function passingText({ agent, crawl, token, waiting, sent, refused }: Passing): string {
  const whose = [agent, crawl && `crawl ${crawl}`, token && `token ${token}`].filter(Boolean).join(', ')
  return `${whose}: ${waiting} wait, ${sent} sent, ${refused} refused`
}

export type Roll = { leases: number; members: string[] }

/** Announces a process for `lifeMs`; 0 says goodbye. Without one, only reads. */
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

/** The members in these texts, each once: what a process said before its latest announcement is there for some seconds more. */
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
