/** Requests that came once more for a URL, and why: a rule that says so, or a death. Every candidate has a path of its own. */
import type { RequestLine } from '@decorum/audit'

export type Again = { origin: string; path: string; first: RequestLine; second: RequestLine }

/**
 * @param deadlineMs  an exchange that lasted as long was given up by its visitor, and may be tried again
 * @param without     paths that are asked for again by nature
 * @returns           what no rule explains: extra requests
 */
export function extraRequests(
  requests: RequestLine[],
  deadlineMs: number,
  without: (line: RequestLine) => boolean = () => false,
): Again[] {
  const byUrl = Map.groupBy(
    requests.filter((line) => line.path !== '/robots.txt' && !without(line)),
    ({ origin, path }) => origin + path,
  )
  const extra: Again[] = []
  for (const visits of byUrl.values()) {
    visits.sort((a, b) => a.start - b.start)
    for (const [at, second] of visits.entries()) {
      const first = visits[at - 1]
      if (first !== undefined && !mayBeTriedAgain(first, deadlineMs))
        extra.push({ origin: second.origin, path: second.path, first, second })
    }
  }
  return extra
}

const mayBeTriedAgain = ({ status, start, end, cut }: RequestLine, deadlineMs: number): boolean =>
  status === 429 || status === 503 || (cut === true && end - start >= deadlineMs * 0.9)
