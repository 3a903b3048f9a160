/** What the auditor says of a fleet some of whose fetchers were killed. */
import type { Report, Violation } from '@decorum/audit'

/**
 * An asker that dies after a site has sent its robots.txt and before it could pass it on: that robots.txt is asked for once more, an
 * extra request like any other, at most one for each request that was under way in a process that died.
 */
export function splitAgainAsked({ examples }: Report): { violations: Violation[]; againAsked: Violation[] } {
  const isAgainAsked = ({ offence }: Violation): boolean => offence === 'robots-too-often'
  return { violations: examples.filter((one) => !isAgainAsked(one)), againAsked: examples.filter(isAgainAsked) }
}
