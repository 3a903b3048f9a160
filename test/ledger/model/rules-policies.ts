/** The rules of the policies of sites: a delay, with or without consent, visiting hours, and a budget of requests a day. */
import { type Call, type Model, ms, openUnlessInDoubt, type Policy, wakeHeld } from './state.ts'

const DAY_MS = 86_400_000

export type PolicyGiven = Omit<Policy, 'changedAt' | 'isGone'>

/** Least delays and policies of a later version. An agent that is not named keeps its own; a policy that is not named is remembered for a day. */
export function rates(
  m: Model,
  call: Call,
  version: number,
  named: [agent: string, delayMs: number][],
  told: [site: string, policy: PolicyGiven][],
): string {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  const known = m.leastDelays?.version ?? 0
  if (version === known) return `kept ${known}`
  if (version < known) return `overtaken ${known}`
  const agents = new Map(m.leastDelays?.agents)
  for (const [agent, least] of named)
    if (agents.get(agent)?.least !== least) agents.set(agent, { least, changedAt: agents.has(agent) ? ms(now) : 0 })
  m.leastDelays = { version, agents }
  if (m.policies !== undefined || told.length > 0) {
    const before = m.policies?.sites ?? new Map<string, Policy>()
    const sites = new Map<string, Policy>()
    for (const [site, policy] of told) {
      const earlier = before.get(site)
      const stays = earlier !== undefined && !earlier.isGone && same(earlier, policy)
      sites.set(site, { ...policy, isGone: false, changedAt: stays ? earlier.changedAt : ms(now) })
    }
    for (const [site, policy] of before) {
      if (sites.has(site) || (policy.isGone && policy.changedAt + DAY_MS <= now)) continue
      sites.set(site, policy.isGone ? policy : { isGone: true, consent: false, changedAt: ms(now) })
    }
    m.policies = { version, count: told.length, till: ms(now + DAY_MS), sites }
    wakeHeld(m)
  }
  return `written ${version}`
}
const same = (one: PolicyGiven, other: PolicyGiven): boolean =>
  one.delayMs === other.delayMs &&
  one.consent === other.consent &&
  one.from === other.from &&
  one.to === other.to &&
  one.budget === other.budget

const hostOf = (origin: string): string => origin.slice(origin.indexOf('//') + 2).split(':')[0] ?? ''

/** The policy of an origin, with the latest change of any that has counted for it. */
export function policyOf(m: Model, origin: string, now: number): Partial<Policy> {
  if (m.policies === undefined || (m.policies.count === 0 && m.policies.till <= now)) return {}
  if (!/^https?:/.test(origin)) return {}
  const labels = hostOf(origin).split('.')
  const sites = labels.flatMap((_, at) => {
    const name = labels.slice(at).join('.')
    return [at === 0 ? name : `*.${name}`, `domain:${name}`]
  })
  const found = sites.flatMap((site) => m.policies?.sites.get(site) ?? [])
  if (found.length === 0) return {}
  const changedAt = Math.max(...found.map((one) => one.changedAt))
  return { ...found.find(({ isGone }) => !isGone), changedAt }
}

/** Hours and days are those of the clock of Redis. */
export function hoursBegin(m: Model, origin: string, now: number): number {
  const { from, to } = policyOf(m, origin, now)
  if (from === undefined || to === undefined) return 0
  const wall = now - m.shift
  const day = Math.floor(wall / DAY_MS) * DAY_MS
  const [minute, begin, end] = [(wall - day) / 60_000, from, to]
  const isOpen = begin < end ? minute >= begin && minute < end : minute >= begin || minute < end
  return isOpen ? 0 : (minute < begin ? day : day + DAY_MS) + begin * 60_000 + m.shift
}

const dayOf = (m: Model, now: number): number => Math.floor((now - m.shift) / DAY_MS)
export function budgetUntil(m: Model, origin: string, now: number): number {
  const { budget } = policyOf(m, origin, now)
  const spent = m.requests.get(`${dayOf(m, now)} ${hostOf(origin)}`) ?? 0
  return budget === undefined || spent < budget ? 0 : (dayOf(m, now) + 1) * DAY_MS + m.shift
}
export function countRequest(m: Model, origin: string, now: number): void {
  if (policyOf(m, origin, now).budget === undefined) return
  const name = `${dayOf(m, now)} ${hostOf(origin)}`
  m.requests.set(name, (m.requests.get(name) ?? 0) + 1)
}
