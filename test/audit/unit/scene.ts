/** Records written by hand: a clock that the test moves, exchanges one after the other or on top of each other. */
import { agentsOf, type Evidence, type JudgeOptions, judgeRecord, type Report, type RequestLine } from '@decorum/audit'

export const AGENT = 'Mozilla/5.0 (compatible; testbot/1.0; +https://example.com/bot)'
export const OTHER = 'Mozilla/5.0 (compatible; otherbot/1.0; +https://example.com/bot)'
export const ORIGIN = 'http://site.test'
const EPOCH = 1_790_000_000_000

export class Scene {
  readonly evidence: Evidence & { bodies: Map<string, string> } = { requests: [], bodies: new Map() }

  /** One exchange, `at` ms after the beginning. */
  visit(at: number, path: string, more: Partial<RequestLine> & { ms?: number } = {}): this {
    const { ms = 5, ...line } = more
    const start = EPOCH + at
    const { requests } = this.evidence
    requests.push({
      kind: 'request',
      origin: ORIGIN,
      agent: AGENT,
      method: 'GET',
      path,
      start,
      end: start + ms,
      status: 200,
      ...line,
    })
    return this
  }

  /** One fetch of robots.txt that yields this body. */
  robots(at: number, body: string, more: Partial<RequestLine> & { ms?: number } = {}): this {
    const hash = `h${this.evidence.bodies.size}`
    this.evidence.bodies.set(hash, body)
    return this.visit(at, '/robots.txt', { robots: hash, ...more })
  }

  /** Pages at this pace, the first at `at`. */
  pages(at: number, count: number, everyMs: number, prefix = '/page-'): this {
    for (let n = 0; n < count; n++) this.visit(at + n * everyMs, `${prefix}${n}`)
    return this
  }

  judge(
    options: Partial<JudgeOptions> & {
      delayMs?: number
      maxDelayMs?: number
      profile?: 'decorum' | 'google' | 'coccoc' | 'rfc9309'
    } = {},
  ): Report {
    const { delayMs = 1_000, maxDelayMs = 10_000, profile = 'decorum', ...rest } = options
    return judgeRecord(this.evidence, { agents: agentsOf({ profile, minDelayMs: delayMs, maxDelayMs }), ...rest })
  }
}

/** The offences that were found, by name, without the zeros. */
export function found(report: Report): Record<string, number> {
  return Object.fromEntries(Object.entries(report.violations).filter(([, times]) => times > 0))
}
