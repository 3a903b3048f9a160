/**
 * What the ledger's own replies say of leases, judged by docs/leases.md: a lane has one lease at a time, whose fence rises; its holder may do what
 * the table says, and nothing else; nothing opens before the delay that is owed, or, where a holder has died, before the quarantine; a robots.txt is
 * fetched once at a time; nothing is granted for what operators hold. A site sees a fault of these only where another defence fails as well.
 */
import {
  ACQUIRED,
  CANCEL_ITEM,
  COMPLETION,
  CONFIRM_ITEM,
  DELAY_ITEM,
  FACT,
  GRANT_ITEM,
  GRANTED,
  isSameUrl,
  KIND,
  LEASE_EVENTS,
  LEAST_DELAY_ITEM,
  LEAVING,
  type LeaseEventName,
  type LeaseKind,
  OVER,
  POLICY_ITEM,
  RESOLUTION,
  readPending,
  START_ANSWER,
  START_ITEM,
  type Verb,
} from '@decorum/ledger/testing'
import { HOUR, hostOf, type Instant } from '@decorum/protocol'
import type { Call } from './calls.ts'
import type { Holds } from './holds.ts'
import { START, type Timeline } from './timeline.ts'

/** Instants in replies have three places. */
const EXACT_MS = 0.01
/** Steps of Redis's clock up to this may be believed (docs/decisions/0014-a-clock-that-leaps.md). */
const BELIEVED_MS = 6_000
/** What the ledger has said is relied on for so long (docs/gates.md, docs/permits.md); a permit is on its way to who asked for it. */
const LATEST_MS = 1_010
/** A process that measures a wait may have a clock that is so much faster. */
const DRIFT = 0.001
/** A robots fetch that was not sent is ended by then, where nothing goes wrong. */
const UNSENT_MS = 2_000
/** Where nothing goes wrong a gateway looks for due lanes so soon after a wake-up; by itself it looks once a second. */
const WOKEN_MS = 100
/** Until then no fetcher may have announced itself. */
const STARTED_MS = 5_000
/** A delay that became longer so long ago is over. */
const LONGEST_DELAY_MS = 10_000
const MOST_SAID = 50

/** Instants here are of the ledger's time, but for those of `Holds`. */
type Held = {
  fence: string
  isStarted: boolean
  kind: LeaseKind | undefined
  list: string
  /** the URL that it is for, as the lane holds it */
  url: string | undefined
  /** by true time: a lease lasts no shorter than that */
  givenAt: Instant
  lastsUntil: Instant
  startedAt: Instant
  requestAt: Instant
  ends: Instant
  delayMs: number
  of: string
}
type Lane = {
  held?: Held | undefined
  fence: string
  /** nothing is sent before */
  opens: Instant
  ended?: Instant
  /** the delay that was reported at the end of its latest exchange; undefined: it is in one, or nobody has reported it */
  owed?: number | undefined
  of: string
}
/** What the ledger has granted to a sender, by true time: one request. */
type Grant = { at: Instant; opens: Instant; until: Instant; isUsed: boolean }
type State = {
  lanes: Map<string, Lane>
  /** origin → its robots fetch */
  fetches: Map<string, { fence: string; until: Instant; unsentAt?: Instant }>
  /** tag and agent or host → the delay that the configuration asks for */
  demanded: Map<string, number>
}
export class Leases {
  readonly wrong: string[] = []
  readonly #timeline: Pick<Timeline, 'now'>
  readonly #holds: Holds
  readonly #quarantineMs: number
  #state: State = { lanes: new Map(), fetches: new Map(), demanded: new Map() }
  #saved: State | undefined
  readonly #clocks = new Map<string, Instant>()
  readonly #epochs = new Map<string, string>()
  /** lane → the latest; what Redis has forgotten is granted all the same */
  readonly #grants = new Map<string, Grant>()
  /** nothing goes wrong in this run but what operators do; nor do they do anything */
  isAtEase = false
  isCalm = false
  /** tag → the first wake-up that no gateway has followed */
  readonly #wokeAt = new Map<string, Instant>()
  /** Redis may begin another epoch: it has restarted, or its clock leaps in this run */
  mayBeginEpoch: (tag: string) => boolean = () => true
  /** a delay may have become longer then, by true time; from a loss on at any time */
  #longerAt = 0

  constructor(timeline: Pick<Timeline, 'now'>, holds: Holds, quarantineMs: number) {
    this.#timeline = timeline
    this.#holds = holds
    this.#quarantineMs = quarantineMs
  }

  /** With the Redis that they are in. */
  save(): void {
    this.#saved = structuredClone(this.#state)
  }

  restore(): void {
    if (this.#saved !== undefined) this.#state = structuredClone(this.#saved)
    this.#clocks.clear()
  }

  /** All leases are over, and lanes are in other partitions, each with a time of its own; a robots fetch whose end was not recorded is still to be. */
  moved(): void {
    this.#state = { lanes: new Map(), fetches: this.#state.fetches, demanded: new Map() }
    this.#clocks.clear()
    this.#epochs.clear()
  }

  /** A request leaves its process. @returns to be called when that has its answer, or has closed its connection */
  sent(agent: string, origin: string): () => void {
    const lane = `${agent} ${origin}`
    const grant = this.#grants.get(lane)
    const held = [grant, this.#grants.get(`${agent} https://${hostOf(origin)}`)].filter((one) => one !== undefined)
    const { now } = this.#timeline
    const isOver = (when: string): void => {
      const until = Math.min(...held.map((one) => one.until))
      if (until < this.#timeline.now)
        this.#say(`a request to ${lane} is ${when} ${(this.#timeline.now - until).toFixed(0)} ms after its lease`)
    }
    if (grant === undefined || grant.isUsed) this.#say(`a request to ${lane} is sent, and no other was granted`)
    else {
      const earlyMs = grant.opens - now - DRIFT * (grant.opens - grant.at)
      if (earlyMs > EXACT_MS) this.#say(`a request to ${lane} is sent ${earlyMs.toFixed(3)} ms before it may`)
      if (now > grant.at + LATEST_MS)
        this.#say(`a request to ${lane} is sent, and was granted ${(now - grant.at).toFixed(0)} ms ago`)
      grant.isUsed = true
    }
    isOver('sent')
    return () => isOver('open')
  }

  ran(call: Call): void {
    const { verb, tag, epoch, now } = call
    if (!Number.isFinite(now)) return
    this.#clock(tag, now)
    this.#epoch(tag, epoch)
    if (verb === 'operate') this.#longer()
    this.#verbs[verb as Verb]?.(call)
  }

  readonly #verbs: Partial<Record<Verb, (call: Call) => void>> = {
    reserve: (call) => this.#reserve(call),
    claim: ({ now, said: [answer, fence = ''], arg }) => {
      if (answer !== 'claimed') return
      this.#open(arg('lane'), 'claimed')
      this.#give(arg('lane'), { fence, list: arg('list'), ends: now + Number(arg('reserveMs')) }, now)
    },
    start: (call) => this.#start(call),
    grant: (call) => this.#grant(call),
    acquire: (call) => this.#acquire(call),
    next: (call) => this.#next(call),
    confirm: ({ now, items, said }) => {
      for (const [n, { lane, fence }] of lanesIn(items).entries()) {
        this.#judge('confirm', lane, fence, now, said[n] === 'granted', said[n] === 'stale')
        const grant = this.#grants.get(lane)
        if (said[n] === 'granted' && grant !== undefined) grant.at = this.#timeline.now
      }
    },
    extend: ({ now, items, said: [answer], arg }) => {
      const all = lanesIn(items)
      this.#together('extend', all, now, answer === 'extended', answer === 'stale')
      const leaseMs = Number(arg('leaseMs'))
      if (answer !== 'extended') return
      for (const { lane } of all) {
        const { held } = this.#of(lane)
        const grant = this.#grants.get(lane)
        if (grant !== undefined) grant.at = this.#timeline.now
        if (leaseMs === 0) continue
        if (grant !== undefined) grant.until = this.#timeline.now + leaseMs
        if (held !== undefined) this.#lasts(held, now + leaseMs, now)
      }
    },
    complete: (call) => this.#complete(call),
    record: (call) => this.#record(call),
    resolve: (call) => this.#resolve(call),
    cancel: (call) => this.#cancel(call),
    restore: () => this.#longer(),
    rates: (call) => this.#rates(call),
  }

  /** Gateways are told that a lane of a partition is due earlier than was known. */
  woke(channel: string): void {
    const tag = channel.replace(/wake$/, 'epoch') // calls name a partition by the key of its epoch
    const { now } = this.#timeline
    if (now > START + STARTED_MS) this.#wokeAt.set(tag, this.#wokeAt.get(tag) ?? now)
  }

  #reserve({ tag, now, said, arg }: Call): void {
    const lateMs = this.#timeline.now - (this.#wokeAt.get(tag) ?? Number.POSITIVE_INFINITY)
    this.#wokeAt.delete(tag)
    if (this.isCalm && lateMs > WOKEN_MS) this.#say(`${tag} is looked at ${lateMs.toFixed(0)} ms after a wake-up`)
    if (said[0] !== 'reserved') return
    for (let at = 2; at < said.length;) {
      const lane = said[at] as string
      const { fence, list, urlCount } = FACT.read((said[at + 1] as string).split('|'))
      const urls = said.slice(at + 3, at + 3 + Number(urlCount))
      at += 3 + urls.length
      // A URL that has expired ends now, whatever holds its lane, and so do those of a blocked origin
      const mayEnd =
        urls.some((url) => readPending(url, 'normal').expiresAt < START + HOUR) ||
        this.#holds.mayBeBlocked(originOf(lane))
      if (arg('lane') === '' && !mayEnd) this.#open(lane, 'reserved')
      this.#give(lane, { fence, list, url: urls[0], ends: now + Number(arg('reserveMs')) }, now)
    }
  }

  #start({ tag, now, items, said, arg }: Call): void {
    const { size, ...at } = START_ITEM.at
    for (const [n, text] of said.entries()) {
      const part = (name: keyof typeof at): string => items[n * size + at[name]] as string
      const [lane, paceLane, kind] = [part('lane'), part('paceLane'), part('kind') as LeaseKind]
      const { answer, waitMs, paceFence, paceDelayMs } = START_ANSWER.read(text.split('|'))
      const isGranted = answer === 'granted'
      this.#judge('start', lane, part('fence'), now, isGranted, answer === 'stale')
      const { held } = this.#of(lane)
      if (held === undefined || answer === 'stale' || answer === 'early') continue
      if (!isGranted) {
        if (answer === 'delay' && held.givenAt > this.#longerAt + LONGEST_DELAY_MS)
          this.#say(`start of ${lane} is refused by a delay that has not become longer since it was reserved`)
        this.#of(lane).held = undefined
        continue
      }
      this.#open(lane, 'started')
      const opens = now + Number(waitMs)
      this.#opens(tag, lane, opens, now)
      const ends = now + Number(arg('leaseMs'))
      Object.assign(held, { isStarted: true, kind, startedAt: now, requestAt: opens })
      this.#of(lane).owed = undefined
      this.#allow(lane, opens - now, ends - now)
      this.#lasts(held, ends, now)
      held.delayMs = Number(part('delayMs'))
      if (kind !== KIND.page) this.#fetch(originOf(lane), held.fence, now, ends, arg)
      if (paceFence === '') continue
      const beside = { fence: paceFence, requestAt: opens, ends, delayMs: Number(paceDelayMs), of: lane }
      this.#beside(tag, paceLane, beside, held.delayMs, now)
    }
  }

  #grant({ tag, now, items, said }: Call): void {
    const { size, ...at } = GRANT_ITEM.at
    for (const [n, text] of said.entries()) {
      const { answer, waitMs, fence, delayMs, paceFence, paceDelayMs } = GRANTED.read(text.split('|'))
      if (answer !== 'granted') continue
      const part = (name: keyof typeof at): string => items[n * size + at[name]] as string
      const [lane, paceLane] = [part('lane'), part('paceLane')]
      const opens = now + Number(waitMs)
      const ends = now + Number(part('leaseMs'))
      this.#open(lane, 'granted')
      this.#give(lane, { fence, kind: KIND.permit, requestAt: opens, ends, delayMs: Number(delayMs) }, now)
      this.#opens(tag, lane, opens, now)
      if (paceFence === '') continue
      const beside = { fence: paceFence, requestAt: opens, ends, delayMs: Number(paceDelayMs), of: lane }
      this.#beside(tag, paceLane, beside, Number(delayMs), now)
    }
  }

  #acquire({ tag, now, said, arg }: Call): void {
    const { answer, value: fence, delayMs, lane, paceFence, paceDelayMs } = ACQUIRED.read([...said])
    if (answer !== 'granted') return
    const isHop = arg('kind') === KIND.hop
    const ends = now + Number(arg('leaseMs'))
    const kind = isHop ? KIND.hop : kindBeside(lane)
    if (isHop) this.#open(lane, 'acquired')
    this.#give(lane, { fence, kind, ends, delayMs: Number(delayMs), of: arg('of') }, now)
    this.#opens(tag, lane, now, now)
    if (isHop && arg('isRobots') === '1') this.#fetch(originOf(lane), fence, now, ends, arg)
    if (paceFence === '') return
    const beside = { fence: paceFence, requestAt: now, ends, delayMs: Number(paceDelayMs), of: lane }
    this.#beside(tag, arg('paceLane'), beside, Number(delayMs), now)
  }

  #next({ now, items, said: [answer = '', waitMs], arg }: Call): void {
    const all = lanesIn(items)
    const isGiven = answer === 'granted' || answer === 'turn'
    this.#together('next', all, now, isGiven, answer === 'stale')
    const { held } = this.#of(all[0]?.lane ?? '')
    if (!isGiven || held === undefined) return
    if (arg('turn') === '') held.startedAt = sentAt(held, now)
    held.requestAt = now + Number(waitMs)
    const lane = arg('lane')
    for (const one of answer === 'granted' ? all : []) {
      const grant = this.#grants.get(one.lane)
      if (grant !== undefined) this.#allow(one.lane, Number(waitMs), grant.until - this.#timeline.now)
    }
    if (answer !== 'granted' || !all.some((one) => one.lane === lane)) return
    this.#open(lane, 'given one more request')
    const fetch = this.#state.fetches.get(originOf(lane))
    const { ends, fence } = held
    if (arg('isRobots') === '1' && fetch?.fence !== fence) this.#fetch(originOf(lane), fence, now, ends, arg)
  }

  #complete({ now, items, said }: Call): void {
    const { lane, fence, ending, delayMs, elapsedMs, leaving } = COMPLETION.at
    let at = 0
    for (const answer of said) {
      const part = (of: number): string => items[at + of] as string
      const name = part(lane)
      const event = part(ending) as LeaseEventName
      this.#judge(event, name, part(fence), now, answer === 'completed', answer === 'stale')
      if (answer === 'completed') this.#ended(name, Number(part(elapsedMs)), Number(part(delayMs)), now)
      at += event === 'over' ? OVER.at.size : COMPLETION.at.size
      if (event === 'end' || event === 'again') at += Number(items[at - COMPLETION.at.size + leaving]) * LEAVING.at.size
    }
  }

  #record({ now, said: [answer], items, arg }: Call): void {
    const [lane, fence, origin] = [arg('lane'), arg('fence'), arg('origin')]
    const { fetches } = this.#state
    const fetch = fetches.get(origin)
    const isOwn = fetch?.fence === fence
    const isLate = fetch === undefined || fetch.until <= now
    if (answer === 'completed' && !isOwn) this.#say(`record of ${origin} by ${fence} is taken, which fetches nothing`)
    if (lane !== '' && isOwn) this.#judge('record', lane, fence, now, answer === 'completed', answer === 'stale')
    else if (answer === 'stale' && isOwn && !isLate)
      this.#say(`record of ${origin} is refused to ${fence}, which fetches it`)
    if (answer !== 'completed') return
    fetches.delete(origin)
    this.#longer()
    if (lane === '') return
    this.#ended(lane, Number(arg('elapsedMs')), Number(arg('delayMs')), now)
    const { size, agent, delayMs } = DELAY_ITEM.at
    const at = items.findIndex((item, n) => n % size === agent && lane.startsWith(`${item} `))
    this.#owes(lane, Math.max(Number(arg('delayMs')), Number(items[at + delayMs - agent])))
  }

  #resolve({ now, items, said }: Call): void {
    const { at } = RESOLUTION
    let from = 0
    for (const answer of said) {
      const part = (of: keyof typeof at): string => items[from + at[of]] as string
      const [lane, next, left] = [part('lane'), part('next') as LeaseEventName, Number(part('leaving'))]
      this.#judge(next, lane, part('fence'), now, answer === 'completed', answer === 'stale')
      from += at.size + left * LEAVING.at.size
      const of = this.#of(lane)
      const { held } = of
      if (answer !== 'completed' || held === undefined) continue
      if (next === 'keep' || next === 'pool') {
        if (left > 0) held.url = undefined
        continue
      }
      of.held = undefined
      of.owed = undefined
      this.#grants.delete(lane)
      if (next !== 'unused') continue
      const fetch = this.#state.fetches.get(originOf(lane))
      if (fetch?.fence === held.fence) fetch.unsentAt = this.#timeline.now
      of.ended = now
      of.of = held.of
      of.opens = Math.max(of.opens, now + held.delayMs)
    }
  }

  #cancel({ now, items, said, arg }: Call): void {
    const of = this.#of(arg('lane'))
    const { held } = of
    if (held === undefined || held.list !== arg('list')) return
    for (const [n, answer] of said.entries()) {
      const url = items[n * CANCEL_ITEM.at.size + CANCEL_ITEM.at.url] as string
      if (answer !== 'cancelled') continue
      if (
        this.#isOn(held, now) &&
        held.isStarted &&
        held.kind === KIND.page &&
        held.url !== undefined &&
        isSameUrl(url, held.url)
      )
        this.#say(`${url} of ${arg('lane')} is cancelled while it is in flight`)
      if (!held.isStarted) of.held = undefined
    }
  }

  #rates({ tag, items, said: [answer], arg }: Call): void {
    if (answer !== 'written') return
    this.#longer()
    const { demanded } = this.#state
    const sites = Number(arg('agents')) * LEAST_DELAY_ITEM.at.size
    for (let at = 0; at < sites; at += LEAST_DELAY_ITEM.at.size)
      demanded.set(`${tag} ${items[at + LEAST_DELAY_ITEM.at.agent]}`, Number(items[at + LEAST_DELAY_ITEM.at.delayMs]))
    for (const key of [...demanded.keys()]) if (key.includes(OF_SITE)) demanded.delete(key)
    for (let at = sites; at < items.length; at += POLICY_ITEM.at.size) {
      const [delay] = (items[at + POLICY_ITEM.at.policy] as string).split(' ')
      if (Number(delay) > 0) demanded.set(`${tag}${OF_SITE}${items[at + POLICY_ITEM.at.site]}`, Number(delay))
    }
  }

  /** Its own time never runs back, and never ahead of true time by more than a step. */
  #clock(tag: string, now: Instant): void {
    const before = this.#clocks.get(tag) ?? 0
    if (now < before) this.#say(`the time of ${tag} runs back by ${(before - now).toFixed(3)} ms`)
    if (now > this.#timeline.now + BELIEVED_MS)
      this.#say(`the time of ${tag} is ahead by ${(now - this.#timeline.now).toFixed(0)} ms`)
    this.#clocks.set(tag, Math.max(before, now))
  }

  /** From the second epoch on exchanges may be lost, and a lane owes for them what was not known when it was reserved. */
  #epoch(tag: string, text: string): void {
    const [id = ''] = /^\d+/.exec(text) ?? []
    const known = this.#epochs.get(tag)
    this.#epochs.set(tag, id)
    if (known === undefined || known === id) return
    this.#longerAt = Number.POSITIVE_INFINITY
    if (!this.mayBeginEpoch(tag)) this.#say(`another epoch begins in ${tag}, and Redis has neither restarted nor leapt`)
  }

  #longer(): void {
    this.#longerAt = Math.max(this.#longerAt, this.#timeline.now)
  }

  #of(lane: string): Lane {
    const known = this.#state.lanes.get(lane) ?? { fence: '0', opens: 0, of: '' }
    this.#state.lanes.set(lane, known)
    return known
  }

  /** An event of the table has befallen a lease, or was refused because it may not. */
  #judge(event: LeaseEventName, lane: string, fence: string, now: Instant, isDone: boolean, isStale: boolean): void {
    const { held } = this.#of(lane)
    const may = mayBefall(event, held, fence, now)
    if (isDone && !may) this.#say(`${event} of ${lane} by ${fence} is done, and ${textOf(held, now)}`)
    // Of robots leases the origin's record says whether they are awaited
    if (isStale && may && this.#isOn(held, now) && held?.kind !== KIND.robots)
      this.#say(`${event} of ${lane} by ${fence} is refused, and ${textOf(held, now)}`)
  }

  /** The same of all leases of a holder, or of none. */
  #together(
    event: LeaseEventName,
    all: { lane: string; fence: string }[],
    now: Instant,
    isDone: boolean,
    isStale: boolean,
  ) {
    const first = all.find(({ lane, fence }) => {
      const { held } = this.#of(lane)
      return !(mayBefall(event, held, fence, now) && this.#isOn(held, now))
    })
    const { lane, fence } = first ?? all[0] ?? { lane: '', fence: '' }
    this.#judge(event, lane, fence, now, isDone, isStale && first === undefined)
  }

  #give(lane: string, lease: Partial<Held> & Pick<Held, 'fence' | 'ends'>, now: Instant): void {
    const of = this.#of(lane)
    this.#reaped(of, lane, now)
    const { fence } = lease
    if (Number(fence) <= Number(of.fence)) this.#say(`the fence of ${lane} falls from ${of.fence} to ${fence}`)
    of.fence = fence
    const isStarted = lease.kind !== undefined
    const requestAt = lease.requestAt ?? now
    const nothing = { kind: undefined, list: '', url: undefined, delayMs: 0, of: '' }
    const { now: givenAt } = this.#timeline
    const lastsUntil = givenAt + lease.ends - now
    of.held = { ...nothing, givenAt, lastsUntil, isStarted, startedAt: now, requestAt, ...lease }
    of.owed = undefined
    if (isStarted) this.#allow(lane, requestAt - now, lease.ends - now)
  }

  #allow(lane: string, waitMs: number, leaseMs: number): void {
    const { now } = this.#timeline
    this.#grants.set(lane, { at: now, opens: now + waitMs, until: now + leaseMs, isUsed: false })
  }

  #lasts(held: Held, ends: Instant, now: Instant): void {
    held.ends = ends
    held.lastsUntil = this.#timeline.now + ends - now
  }

  /** Not over, by the ledger's time or by true time, which is never behind that. */
  #isOn(held: Held | undefined, now: Instant): boolean {
    return held !== undefined && (held.ends > now || held.lastsUntil > this.#timeline.now + BELIEVED_MS)
  }

  /** The lane that a request holds beside its own: that of its host owes no less. */
  #beside(
    tag: string,
    lane: string,
    lease: Omit<Held, 'kind' | 'isStarted' | 'list' | 'url' | 'givenAt' | 'lastsUntil' | 'startedAt'>,
    owedMs: number,
    now: Instant,
  ): void {
    const kind = kindBeside(lane)
    this.#give(lane, { ...lease, kind }, now)
    this.#opens(tag, lane, lease.requestAt, now)
    if (kind === KIND.host && lease.delayMs < owedMs - EXACT_MS)
      this.#say(`${lane} owes ${lease.delayMs} ms beside ${lease.of}, which owes ${owedMs} ms`)
  }

  /** The lane is given to somebody else: whoever held it has ended that, or it is over. */
  #reaped(of: Lane, lane: string, now: Instant): void {
    const { held } = of
    if (held === undefined) return
    if (this.#isOn(held, now)) this.#say(`${lane} is given away, and ${textOf(held, now)}`)
    if (!held.isStarted) return
    of.opens = Math.max(of.opens, held.ends + this.#quarantineMs + held.delayMs)
    of.ended = held.ends + this.#quarantineMs
    of.of = held.of
  }

  #ended(lane: string, elapsedMs: number, delayMs: number, now: Instant): void {
    const of = this.#of(lane)
    const { held } = of
    of.held = undefined
    this.#grants.delete(lane)
    if (held === undefined) return
    of.ended = Math.max(now - elapsedMs, sentAt(held, now))
    of.of = held.of
    of.opens = of.ended + delayMs
    this.#owes(lane, delayMs)
  }

  /** Its sender has reported so: the lane of the host owes no less than the lane whose request held both. */
  #owes(lane: string, delayMs: number): void {
    const of = this.#of(lane)
    of.owed = delayMs
    if (!lane.includes(' http')) return
    const isHost = of.of !== '' && kindBeside(lane) === KIND.host
    const [own, host] = isHost ? [of.of, lane] : [lane, `${agentOf(lane)} https://${hostOf(originOf(lane))}`]
    const [ownMs, hostMs] = [this.#of(own).owed, this.#of(host).owed]
    if (this.#of(host).of !== own || ownMs === undefined || hostMs === undefined) return
    if (hostMs < ownMs - EXACT_MS) this.#say(`${host} owes ${hostMs} ms behind ${own}, which owes ${ownMs} ms`)
  }

  #opens(tag: string, lane: string, opens: Instant, now: Instant): void {
    const of = this.#of(lane)
    const least = Math.max(of.opens, this.#demandedAfter(tag, lane, of, now))
    if (opens < least - EXACT_MS)
      this.#say(`${lane} opens ${(least - opens).toFixed(3)} ms before the delay that it owes is over`)
  }

  /** When the delay is over that configuration, policies and operators ask for now. */
  #demandedAfter(tag: string, lane: string, { ended, opens, of }: Lane, now: Instant): Instant {
    const host = hostOf(originOf(lane))
    if (ended === undefined || !lane.includes(' http')) return 0
    const { demanded } = this.#state
    const ofFleet = demanded.get(`${tag} ${agentOf(lane)}`) ?? 0
    const ofSite = demanded.get(`${tag}${OF_SITE}${host}`) ?? 0
    const origins = of === '' ? [originOf(lane)] : [originOf(lane), originOf(of)]
    const byHand = origins.map((origin) => this.#holds.delayOf(origin, now, ended, opens))
    return ended + Math.max(ofFleet, ofSite, ...byHand)
  }

  #fetch(origin: string, fence: string, now: Instant, ends: Instant, arg: Call['arg']): void {
    const { fetches } = this.#state
    const other = fetches.get(origin)
    if (other !== undefined && other.fence !== fence && other.until > now)
      this.#say(`two robots fetches of ${origin} at once, ${other.fence} and ${fence}`)
    this.#unsent(origin)
    fetches.set(origin, { fence, until: Math.max(now + Number(arg('holdMs')), ends) })
  }

  /** Of a robots fetch that was not sent its process says that it is over: lanes wait for it. */
  #unsent(origin: string): void {
    const { unsentAt } = this.#state.fetches.get(origin) ?? {}
    if (this.isAtEase && unsentAt !== undefined && this.#timeline.now > unsentAt + UNSENT_MS)
      this.#say(`the robots fetch of ${origin} was not sent, and has not been ended`)
  }

  /** What operators hold is neither reserved nor granted. */
  #open(lane: string, what: string): void {
    const isReserved = what === 'reserved' || what === 'claimed'
    const gate = this.#holds.gateOf(originOf(lane), isReserved ? 'reserve' : 'grant')
    if (gate !== undefined && !(gate === 'blocked' && isReserved)) this.#say(`${lane} is ${what}, and it is ${gate}`)
  }

  #say(text: string): void {
    if (this.wrong.length < MOST_SAID)
      this.wrong.push(`${((this.#timeline.now - START) / 1_000).toFixed(3)} s: ${text}`)
  }
}

/** Between a tag and a site, where an agent has a blank. */
const OF_SITE = ' site '

const agentOf = (lane: string): string => lane.slice(0, lane.indexOf(' '))
const originOf = (lane: string): string => lane.slice(lane.indexOf(' ') + 1)
const kindBeside = (lane: string): LeaseKind => (lane.includes(' http') ? KIND.host : KIND.paceGroup)

function mayBefall(event: LeaseEventName, held: Held | undefined, fence: string, now: Instant): boolean {
  if (held === undefined || held.fence !== fence) return false
  const { from, whileItLasts } = LEASE_EVENTS[event]
  if (whileItLasts && held.ends <= now) return false
  if (!held.isStarted) return from.reserved === true
  return held.kind !== undefined && (from.started?.includes(held.kind) ?? false)
}

function textOf(held: Held | undefined, now: Instant): string {
  if (held === undefined) return 'it has no lease'
  const { fence, isStarted, kind = '', ends } = held
  return `its lease ${fence} is ${isStarted ? `started (${kind})` : 'reserved'} and ends ${(ends - now).toFixed(0)} ms later`
}

/** When the latest request under it was sent. */
const sentAt = ({ startedAt, requestAt }: Held, now: Instant): Instant =>
  requestAt > startedAt && requestAt <= now ? requestAt : startedAt

function lanesIn(items: readonly string[]): { lane: string; fence: string }[] {
  const { size, lane, fence } = CONFIRM_ITEM.at
  return Array.from({ length: items.length / size }, (_, n) => ({
    lane: items[n * size + lane] as string,
    fence: items[n * size + fence] as string,
  }))
}
