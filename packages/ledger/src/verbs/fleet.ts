/** fleet: which processes run, and how many leases there are. */
import type { Scripts } from '../scripts.ts'

export type Member = { id: string; role: string; slots: number }
export type Roll = { leases: number; members: string[] }

/** Announces a process for `lifeMs`; 0 says goodbye. Without one, only reads. */
export async function fleet(scripts: Scripts, announced?: { member: Member; lifeMs: number }): Promise<Roll> {
  const member = announced === undefined ? '' : memberText(announced.member)
  const { values } = await scripts.call('fleet', { member, lifeMs: announced?.lifeMs ?? 0 })
  const [leases, ...members] = values
  return { leases: Number(leases), members }
}

const memberText = ({ role, id, slots }: Member): string => `${role} ${id} ${slots}`

export function readMember(text: string): Member {
  const [role = '', id = '', slots] = text.split(' ')
  return { role, id, slots: Number(slots) }
}
