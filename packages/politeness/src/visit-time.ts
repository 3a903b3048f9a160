/** `Visit-time` of a robots.txt: the hours of the day (UTC) in which a site prefers requests, for agents that obey them. */
import type { Agent, Hours } from '@decorum/config'
import type { RobotsTxt } from '@decorum/robots'
import { recordsOf } from '@decorum/robots/preferences'
import { tokensOf } from './effective-delay.ts'
import { opensAt } from './site-policy.ts'

/** `0600-0845`, and `0600 0845` as in the extended standard of 1996. */
const VISIT_TIME = /^([01]\d|2[0-3])([0-5]\d)(?:\s*-\s*|\s+)([01]\d|2[0-4])([0-5]\d)$/

/**
 * When pages may be requested: now, or when any of the hours of the agent's group next begin. A record that cannot be parsed, or whose
 * hours are empty, does not count.
 * @param at       wall clock, ms
 * @param spareMs  nothing begins within this time before the end of the hours
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
