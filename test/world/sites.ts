/**
 * Sites that keep a record, and the network between them and fetchers. The border of undici is played here: a `Way` that calls the handler
 * of an exchange as undici does, over one connection at a time. What this leaves out (octets, TLS, HTTP/2, look-ups, parsers) is tested by the real sockets of
 * test/sending and test/fetcher.
 */
import { createHash } from 'node:crypto'
import type { RequestLine } from '@decorum/audit'
import type { Agent } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import type { Instant } from '@decorum/protocol'
import type { LaneConnections } from '@decorum/sending/http'
import type { Dispatcher } from 'undici'
import type { Dice } from './dice.ts'
import type { Process } from './process.ts'
import type { Timeline } from './timeline.ts'

type Way = ReturnType<LaneConnections['lane']>

/** Paths that crawlers of others ask for begin with this. */
export const OF_OTHERS = '/of-others/'

/** `status` 0: it hangs up without an answer. */
export type Answer = { status: number; headers?: Record<string, string>; body?: string; serveMs: number }
export type Site = {
  host: string
  /** what its name leads to; some hosts share one */
  address: string
  /** how it is, for people */
  manner: string
  /** scheme and ports of the host, which share its pace */
  origins: readonly string[]
  /** owed to it after each exchange, ms; and from one request to the next, on average */
  delayMs: number
  everyMs: number
  /** connecting takes so long, ms, and each connection is for one request; absent: as long as anywhere, and it is kept */
  connectMs?: (dice: Dice) => number
  /** its robots.txt lets nobody in before, an instant */
  opensAt?: Instant
  /**
   * What it answers, by path; the dice are the site's own.
   * @param times  that its robots.txt was asked for before
   */
  answer(path: string, dice: Dice, times: number): Answer
}
export type Heard = { head(answer: Answer): void; body(answer: Answer): void; broken(): void }

/** An answer is told to Redis within this, or its lease is over. */
const LONGEST_UNTOLD_MS = 60_000

export class Web {
  readonly requests: RequestLine[] = []
  /** what was answered to somebody who tells the fleet late or never; `requests` have those without their answers */
  readonly untold: RequestLine[] = []
  readonly bodies = new Map<string, string>()
  readonly #timeline: Timeline
  readonly #dice: Dice
  readonly #sites = new Map<string, { site: Site; dice: Dice; times: number }>()
  /** exchanges that have begun and are not recorded */
  open = 0
  /** told of each request, as it comes, and how it is answered */
  onAsked: (line: RequestLine, answer: Answer) => void = () => undefined
  /** a request leaves its process. @returns to be called when that has its answer, or has closed its connection */
  onSent: (agent: string, origin: string) => () => void = () => () => undefined
  /** answers about rules that the ledger has not been told */
  readonly #unknown = new Map<string, { line: RequestLine; process: Process | undefined }>()
  /** redirects of a robots.txt that a process was given: it and the target → the origin first asked */
  readonly #hops = new Map<string, string>()
  /** requests of robots fetches → the origin first asked */
  readonly #homes = new Map<RequestLine, string>()

  constructor(timeline: Timeline, dice: Dice, sites: readonly Site[]) {
    this.#timeline = timeline
    this.#dice = dice
    for (const site of sites)
      for (const origin of site.origins) this.#sites.set(origin, { site, dice: dice.apart(origin), times: 0 })
  }

  /** @param stops  of the ledger of this process */
  connectionsOf(process: Process, stops: Pick<Ledger['stops'], 'why'>): LaneConnections {
    const ways = new Map<string, WorldWay>()
    const open = (agent: Agent, origin: string): WorldWay => new WorldWay(this, process, agent, origin, stops)
    return {
      lane(agent, origin) {
        const name = `${agent.key} ${origin}`
        let way = ways.get(name)
        if (way === undefined) {
          way = open(agent, origin)
          ways.set(name, way)
        }
        return way
      },
      once: (agent, origin) => open(agent, origin),
      bare: () => Promise.reject(new Error('nothing in this world opens a tunnel')),
      egressWaitMs: () => 0,
      waitBehind: () => undefined,
      addressOf: async (_, origin) => this.addressOf(origin),
      close: async () => undefined,
    }
  }

  /** This process has told the ledger what an origin answered about its rules, or that it did not. */
  known(origin: string, process: Process): void {
    const unknown = this.#unknown.get(origin)
    if (unknown === undefined) return
    const isReaped = unknown.line.cut === true && unknown.process?.isAlive === false
    if (unknown.process === process || isReaped) this.#unknown.delete(origin)
  }

  /** Redis has lost what it was told since an instant. */
  lost(since: Instant): void {
    for (let at = this.requests.length - 1; at >= 0; at--) {
      const line = this.requests[at] as RequestLine
      if (line.end < since - LONGEST_UNTOLD_MS) break
      const home = this.#homes.get(line)
      if (home !== undefined && !this.#unknown.has(home)) this.#unknown.set(home, { line, process: undefined })
    }
  }

  /** ms that connecting to an origin takes, beside the way there and back */
  connectMs(origin: string): number {
    const found = this.#sites.get(origin)
    return found?.site.connectMs?.(found.dice) ?? 0
  }

  addressOf(origin: string): string | undefined {
    return this.#sites.get(origin)?.site.address
  }

  keepsConnections(origin: string): boolean {
    return this.#sites.get(origin)?.site.connectMs === undefined
  }

  /** ms of one way */
  way(): number {
    return this.#dice.between(0.2, 3)
  }

  /**
   * It asks again, and the fleet does not know its last answer: the process that had it died, or its lease ended, before Redis was told. The fleet asks
   * after a minute then, as after a fetch that was not answered; the site's record must not say that it knew (README.md).
   */
  #forget(origin: string): void {
    const known = this.#unknown.get(origin)
    if (known !== undefined) {
      unread(known.line)
      // The fleet has not counted it as a failure either: whatever came of it, an auditor expects the least pause, as behind a redirect that it cannot follow.
      known.line.cut = false
      known.line.status = 302
      delete known.line.location
    }
    this.#unknown.delete(origin)
  }

  get timeline(): Timeline {
    return this.#timeline
  }

  /**
   * A request has left its process.
   * @param isUntold  who sends it tells nobody of its answer, or not in time: the record must not say that the fleet knew
   * @param heard  what comes back, in the order of a connection
   * @returns      closes the connection
   */
  send(
    {
      origin,
      path,
      method,
      agent,
      isUntold = false,
    }: Pick<RequestLine, 'origin' | 'path' | 'method' | 'agent'> & { isUntold?: boolean },
    heard: Heard,
    process: Process,
  ): () => void {
    const timeline = this.#timeline
    let closedAt: number | undefined
    let line: RequestLine | undefined
    let recorded: RequestLine | undefined
    let hasHead = false
    let isRead = false
    /** where a robots fetch began; undefined: it is none */
    let ofRobots: string | undefined
    /** @returns undefined: it was recorded before, or has never come */
    const record = (more: Partial<RequestLine>): RequestLine | undefined => {
      if (recorded !== undefined || line === undefined) return undefined
      this.open--
      const whole = { ...line, end: timeline.now, ...more }
      recorded = whole
      this.requests.push(whole)
      if (ofRobots !== undefined) this.#homes.set(whole, ofRobots)
      timeline.note(`  ${origin}${path} ${whole.status} ${(whole.end - whole.start).toFixed(3)}`)
      return whole
    }
    if (!process.isAlive) return () => undefined
    this.open++
    const sentAt = timeline.now
    const isHeldTo = this.onSent(agent, origin)
    const isOver = (): void => {
      if (process.isAlive && process.thawedAt <= sentAt) isHeldTo()
    }
    timeline.after(this.way(), `${origin}${path} is asked`, () => {
      line = { kind: 'request', origin, agent, method, path, start: timeline.now, end: timeline.now, status: 0 }
      const found = this.#sites.get(origin)
      if (found === undefined) throw new Error(`there is no site ${origin}`)
      line.address = found.site.address
      const hop = `${process.name} ${origin}${path}`
      const home = this.#hops.get(hop) ?? origin
      const isOwnHop = this.#hops.delete(hop)
      const isRobots = path === '/robots.txt' || home !== origin || isOwnHop
      if (isRobots) ofRobots = home
      if (path === '/robots.txt' && home === origin) this.#forget(origin)
      if (closedAt !== undefined) return void record({ cut: true })
      const answer = found.site.answer(path, found.dice, found.times)
      if (path === '/robots.txt') found.times++
      this.onAsked(line, answer)
      timeline.after(answer.serveMs, `${origin}${path} answers`, () => {
        if (closedAt !== undefined) return
        const { status, headers = {}, body = '' } = answer
        const isRules = isRobots && status === 200
        const retryAfter = headers['retry-after']
        const more: Partial<RequestLine> = { status }
        if (retryAfter !== undefined) more.retryAfter = retryAfter
        if (headers.location !== undefined) more.location = headers.location
        if (isRules) {
          const hash = createHash('sha256').update(body).digest('hex').slice(0, 16)
          this.bodies.set(hash, body)
          more.robots = hash
        }
        record(more)
        if (isUntold && recorded !== undefined) {
          this.untold.push({ ...recorded })
          unread(recorded)
        }
        if (isRobots && recorded !== undefined) {
          this.#unknown.set(home, { line: recorded, process })
          if (headers.location !== undefined)
            this.#hops.set(`${process.name} ${new URL(headers.location, origin + path).href}`, home)
        }
        const at = timeline.now + this.way()
        if (status === 0) {
          timeline.at(at, `${origin}${path} hangs up`, () => heard.broken(), process)
          return
        }
        timeline.at(
          at,
          `has the head of ${origin}${path}`,
          () => {
            hasHead = true
            heard.head(answer)
          },
          process,
        )
        timeline.at(
          at,
          `has the body of ${origin}${path}`,
          () => {
            isRead = true
            isOver()
            heard.body(answer)
          },
          process,
        )
      })
    })
    return () => {
      if (closedAt !== undefined || isRead) return
      closedAt = timeline.now
      isOver()
      // Its octets were on their way to a process that did not read them any more: the agent knows no answer, or no rules but its status.
      if (recorded !== undefined && (!hasHead || ofRobots !== undefined)) unread(recorded)
      timeline.after(this.way(), `${origin}${path} is given up`, () => {
        const cut = record({ cut: true })
        // A fetch whose process has died counts as a failure once somebody has recorded that; who does may die, too
        if (ofRobots !== undefined && cut !== undefined && !process.isAlive)
          this.#unknown.set(ofRobots, { line: cut, process })
      })
    }
  }
}

/** As if nothing had been answered: an auditor would hold it against an agent that knows no answer. */
function unread(line: RequestLine): void {
  line.cut = true
  line.status = 0
  delete line.robots
  delete line.retryAfter
}

/** What undici calls a controller. */
class Controller implements Dispatcher.DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: string[] = []
  rawTrailers: string[] = []
  onAbort: (reason: Error) => void = () => undefined
  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.onAbort(reason)
  }
  pause(): void {
    this.paused = true
  }
  resume(): void {
    this.paused = false
  }
}

type Connection = NonNullable<ReturnType<Way['connection']>>
const nothing = (): void => undefined
const NO_OCTETS = { clear: nothing, handedOn: nothing, only: nothing, all: () => [] }
/** What an exchange looks at, of one without octets. */
const connectionTo = (address: string): Connection =>
  ({ phase: 'open', dialledAt: 0, address, protocol: 'http/1.1', received: NO_OCTETS }) as unknown as Connection

class WorldWay implements Way {
  waiting: Way['waiting']
  readonly clock: Way['clock']
  readonly distrustHttp2 = (): void => undefined
  readonly #web: Web
  readonly #process: Process
  readonly #agent: Agent
  readonly #origin: string
  readonly #stops: Pick<Ledger['stops'], 'why'>
  #connection: Connection | undefined
  #isConnected = false
  #connecting: ((reason: Error) => void) | undefined
  #close: () => void = () => undefined

  constructor(web: Web, process: Process, agent: Agent, origin: string, stops: Pick<Ledger['stops'], 'why'>) {
    this.#web = web
    this.#stops = stops
    this.#process = process
    this.#agent = agent
    this.#origin = origin
    this.clock = process.clock
    process.onDeath(() => this.#close())
  }

  dispatch({ path, method }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const { timeline } = this.#web
    const controller = new Controller()
    const fail = (error: Error): void => handler.onResponseError?.(controller, error)
    if (this.#isConnected) {
      // undici sends in the next turn of the loop
      timeline.after(
        0,
        `sends over ${this.#origin}`,
        () => this.#start(path, method, controller, handler),
        this.#process,
      )
      return
    }
    let isGivenUp = false
    this.#connecting = (reason) => {
      isGivenUp = true
      this.#connecting = undefined
      fail(reason)
    }
    timeline.after(
      2 * this.#web.way() + this.#web.connectMs(this.#origin),
      `is connected to ${this.#origin}`,
      async () => {
        if (isGivenUp) return
        const confirming = this.waiting?.beforeUse()
        const begin = (error?: Error): void => {
          if (isGivenUp) return
          this.#connecting = undefined
          if (error !== undefined) fail(error)
          else {
            this.#isConnected = true
            this.#connection = connectionTo(this.#web.addressOf(this.#origin) ?? '')
            this.#start(path, method, controller, handler)
          }
        }
        if (confirming === undefined) begin()
        else void confirming.then(begin)
      },
      this.#process,
    )
  }

  #start(path: string, method: string, controller: Controller, handler: Dispatcher.DispatchHandler): void {
    const closed = (error: Error): void => {
      this.#isConnected = false
      this.#close()
      handler.onResponseError?.(controller, error)
    }
    handler.onRequestStart?.(controller, {})
    if (controller.aborted) {
      closed(controller.reason as Error)
      return
    }
    controller.onAbort = closed
    const about = { origin: this.#origin, path, method, agent: this.#agent.userAgent }
    this.#close = this.#web.send(
      about,
      {
        head: ({ status, headers = {} }) => {
          if (controller.aborted) return
          handler.onResponseStarted?.()
          controller.rawHeaders = Object.entries(headers).flat()
          handler.onResponseStart?.(controller, status, {}, '')
        },
        body: ({ body = '' }) => {
          if (controller.aborted) return
          if (body !== '') handler.onResponseData?.(controller, Buffer.from(body))
          if (!controller.aborted) handler.onResponseEnd?.(controller, {})
          controller.onAbort = () => undefined
          this.#isConnected = this.#web.keepsConnections(this.#origin)
        },
        broken: () => closed(Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })),
      },
      this.#process,
    )
  }

  connection(): Connection | undefined {
    return this.#isConnected ? this.#connection : undefined
  }
  whyStopped(): string | undefined {
    return this.#stops.why(this.#origin, this.#connection?.address)
  }
  abandon(reason: Error): void {
    this.#connecting?.(reason)
  }
  async destroy(): Promise<void> {
    this.#isConnected = false
    this.#close()
  }
}
