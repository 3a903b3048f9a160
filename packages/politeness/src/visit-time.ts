/** `Visit-time` of a robots.txt: the hours of the day (UTC) at which a site would like to be visited, for agents that keep to them. */
import type { Agent, Hours } from '@decorum/config'
import type { RobotsTxt } from '@decorum/robots'
import { recordsOf } from '@decorum/robots/preferences'
import { tokensOf } from './effective-delay.ts'
import { opensAt } from './site-policy.ts'

/** `0600-0845`, and `0600 0845` as the extended standard of 1996 has it. */
const VISIT_TIME = /^([01]\d|2[0-3])([0-5]\d)(?:\s*-\s*|\s+)([01]\d|2[0-4])([0-5]\d)$/

/**
 * When pages may be asked for: now, or at the next beginning of any of the hours that the agent's group names. A record that cannot be
 * read, or whose hours are empty, does not count.
 * @param at       wall clock, ms
 * @param spareMs  how long before the end of the hours nothing is begun any more
 * @returns        an instant of the wall clock, never before `at`
 */
export function visitTimeOpensAt(agent: Agent, rules: RobotsTxt | undefined, at: number, spareMs: number): number {
  if (!agent.honourVisitTime || rules === undefined) return at
  const hours = recordsOf(rules, tokensOf(agent)).flatMap(({ field, value }) =>
    field === 'visit-time' ? hoursOf(value) : [],
  )
  return hours.length === 0 ? at : Math.min(...hours.map((one) => opensAt(one, at, spareMs)))
}

function hoursOf(value: string): Hours[] {
  const [, fromHour, fromMinute, toHour, toMinute] = VISIT_TIME.exec(value.trim()) ?? []
  if (fromHour === undefined) return []
  const [from, to] = [Number(fromHour) * 60 + Number(fromMinute), Number(toHour) * 60 + Number(toMinute)]
  return from === to || to > 1_440 ? [] : [{ from, to }]
}
