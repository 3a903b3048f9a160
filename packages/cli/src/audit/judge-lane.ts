/** One lane, judged: one request at a time, then the silence owed, and nothing that the rules in force forbid. */
import { allows, type Knowledge, silenceOwed, type View } from './knowledge.ts'
import type { Offence } from './report.ts'
import type { Visit } from './robots-fetches.ts'

export type LaneContext = {
  knowledge: Knowledge
  /** how late a site may notice that a visitor has gone, ms, where its record does not say: after cut exchanges alone */
  afterCutMs: number
  blame: (visit: Visit, offence: Offence, because: string) => void
  unjudged: () => void
}

export type LaneSums = { smallestSlackMs: number | undefined; least: number; most: number }

/** RFC 9309 §2.4: rules older than a day are asked for again. */
const RULES_LAST_MS = 86_400_000
const ms = (value: number): string => `${value.toFixed(1)} ms`

/**
 * @param visits  of one visitor at one origin, by start; without what it did there as a guest of another origin's robots.txt
 */
export function judgeLane(visits: Visit[], context: LaneContext): LaneSums {
  const sums: LaneSums = { smallestSlackMs: undefined, least: Number.POSITIVE_INFINITY, most: 0 }
  let latestEnd = Number.NEGATIVE_INFINITY
  let latestLateMs = 0
  let latestPath = ''
  for (const visit of visits) {
    const { line, visitor } = visit
    const views = context.knowledge.viewsAt(line.start, visitor.policy)
    const letIn = line.path === '/robots.txt' || visit.hop ? views : judgePage(visit, views, context)
    const owed = mildest(letIn.length > 0 ? letIn : views, visit)
    // The hops of a robots.txt fetch are one exchange: no silence inside it.
    if (!visit.hop && latestEnd !== Number.NEGATIVE_INFINITY) {
      sums.least = Math.min(sums.least, owed)
      sums.most = Math.max(sums.most, owed)
      const slack = line.start - latestEnd - owed
      if (line.start < latestEnd) {
        context.blame(visit, 'overlap', `${latestPath} was open for another ${ms(latestEnd - line.start)}`)
      } else {
        // Nobody hears at once that somebody has left: only then the site's own end of an exchange may be late.
        const counted = slack < 0 && slack >= -latestLateMs ? 0 : slack
        sums.smallestSlackMs = Math.min(sums.smallestSlackMs ?? Number.POSITIVE_INFINITY, counted)
        if (counted < 0)
          context.blame(visit, 'short-silence', `${ms(line.start - latestEnd)} of ${ms(owed)} after ${latestPath}`)
      }
    }
    if (line.end >= latestEnd) {
      latestEnd = line.end
      latestLateMs = line.cut ? (line.late ?? context.afterCutMs) : 0
      latestPath = line.path
    }
  }
  return sums
}

/** @returns the views under which this page may be fetched */
function judgePage(visit: Visit, views: View[], context: LaneContext): View[] {
  const { line, visitor } = visit
  if (views.length === 0) {
    const pending = context.knowledge.fetches.some((fetch) => fetch.start < line.start)
    context.blame(
      visit,
      'before-rules',
      pending ? 'robots.txt had been asked for, not answered' : 'robots.txt had not been asked for',
    )
    return views
  }
  const url = line.origin + line.path
  const letIn = views.filter((view) => allows(view, url, visitor))
  if (letIn.length === 0) {
    const rules = views.find((view) => view.kind === 'rules')
    if (rules === undefined)
      context.blame(visit, 'rules-unreachable', 'the last answer to robots.txt closes the whole site')
    else context.blame(visit, 'forbidden', becauseOf(rules, url, visitor.tokens))
  } else if (letIn.every((view) => view.kind === 'unknown')) context.unjudged()
  const asked = context.knowledge.askedBefore(line.start) ?? line.start
  if (line.start - asked > RULES_LAST_MS) {
    context.blame(
      visit,
      'rules-too-old',
      `robots.txt was last answered ${((line.start - asked) / 3_600_000).toFixed(1)} h before`,
    )
  }
  return letIn
}

function becauseOf(view: View & { kind: 'rules' }, url: string, tokens: string[]): string {
  const { rule } = view.rules.decide(url, tokens)
  return rule ? `line ${rule.line} of robots.txt: ${rule.type}: ${rule.pattern}` : 'robots.txt forbids it'
}

/** The least that any possible view asks for. */
function mildest(views: View[], { visitor }: Visit): number {
  if (views.length === 0) return visitor.floorMs
  return Math.min(...views.map((view) => silenceOwed(view, visitor)))
}
