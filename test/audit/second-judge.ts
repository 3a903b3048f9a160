/**
 * A second judge of access records, written from the definitions in docs/audit.md alone: slow, short, and without a line of
 * the auditor or of the robots library. It reads rules of a small dialect: agents, plain prefixes, crawl-delays.
 */

export type Exchange = {
  origin: string
  agent: string
  method: string
  path: string
  start: number
  end: number
  status: number
  cut?: boolean
  late?: number
  resolution?: number
  retryAfter?: string
  location?: string
  robots?: string
  address?: string
}

export type Who = {
  name: string
  party: string
  tokens: string[]
  profile: string
  least: number
  most: number
  honours: boolean
}

export type Clock = { name: string; places: number; delay: number | undefined }

export type Case = {
  exchanges: Exchange[]
  bodies: Record<string, string>
  /** User-Agent → agent; absent: left out */
  who: (userAgent: string) => Who | undefined
  retryMs?: number
  continues?: boolean
  /** the groups of an exchange; absent: none are judged */
  groups?: (agent: string, origin: string, address: string | undefined) => Clock[]
}

export type Verdict = { offences: string[]; unjudged: number }

type Row = Exchange & {
  at: number
  lane: string
  place: string
  whose: Who
  endMin: number
  endMax: number
  startMax: number
}
type Chain = { parts: Row[] }
type Fetch = { origin: string; party: string; first: Row; chain: Chain; hopsBefore: number }

const HOUR = 3_600_000
const DAY = 24 * HOUR
const REDIRECTS = [301, 302, 303, 307, 308]
const LIMIT = 512_000

/** @returns each offence as `line offence`, sorted */
export function judgeAgain(given: Case): Verdict {
  const rows = rowsOf(given)
  const chains = chainsOf(rows)
  const chainByRow = new Map(chains.flatMap((chain) => chain.parts.map((row): [Row, Chain] => [row, chain])))
  const chainOf = (row: Row): Chain | undefined => chainByRow.get(row)
  const fetches = chains.flatMap(fetchesOf)
  const offences: string[] = []
  let unjudged = 0
  const found = (row: Row, offence: string): void => void offences.push(`${row.at} ${offence}`)
  const isHop = (row: Row): boolean => (chainOf(row)?.parts.indexOf(row) ?? 0) > 0

  const byPlace = Map.groupBy(
    fetches.sort((a, b) => lastOf(a).endMin - lastOf(b).endMin || rows.indexOf(a.first) - rows.indexOf(b.first)),
    placeOf,
  )
  const answersAt = (place: string): Fetch[] => byPlace.get(place) ?? []
  for (const [hash, body] of Object.entries(given.bodies)) sizes.set(hash, body.length)
  const statesAt = (row: Row, place: string, whose: Who) =>
    statesInQuestion(row, whose, answersAt(place), chainOf(row), given)
  const delayAt = (row: Row, place: string, whose: Who): number => {
    const { states } = statesAt(row, place, whose)
    return states.length === 0 ? whose.least : Math.min(...states.map((state) => delayUnder(state, whose, given)))
  }

  for (const row of rows) {
    const before = rows.slice(0, rows.indexOf(row))
    const chain = chainOf(row)
    const { states, last } = statesAt(row, row.place, row.whose)
    const forbids = (state: State): boolean => !allowedUnder(state, row, given)

    if (row.path !== '/robots.txt' && !isHop(row)) {
      if (states.length === 0) {
        const redirected = rows.some(
          (other) =>
            other.lane === row.lane &&
            other.method === 'GET' &&
            other.path === '/robots.txt' &&
            REDIRECTS.includes(other.status) &&
            other.endMin <= row.startMax,
        )
        if (redirected || (given.continues && row.start < rows[0]!.start + DAY)) unjudged++
        else found(row, 'before-rules')
      } else {
        if (states.every(forbids))
          found(row, states.some(({ kind }) => kind === 'rules') ? 'disallowed' : 'rules-unreachable')
        else if (states.every((state) => state.kind === 'unknown' || forbids(state))) unjudged++
        if (row.start - lastOf(last!).endMax > DAY) found(row, 'rules-too-old')
      }
    } else if (isHop(row) && row.path !== '/robots.txt' && chain!.parts[0]!.origin !== row.origin) {
      const inTheWay = (state: State): boolean => state.kind === 'rules' && forbids(state)
      if (states.length > 0 && states.every(inTheWay)) found(row, 'disallowed')
    }

    judgeDelay(
      row,
      before.filter((other) => other.lane === row.lane && !(chain?.parts.includes(other) ?? false)),
    )
    function judgeDelay(one: Row, others: Row[]): void {
      const end = Math.max(...others.map(({ endMin }) => endMin))
      const other = others.findLast(({ endMin }) => endMin === end)
      if (other === undefined) return
      const delay = delayAt(one, one.place, one.whose)
      const coarse = Math.max(one.startMax - one.start, other.startMax - other.start)
      const certain = other.start + coarse <= one.start
      if (!certain && delay <= coarse) return
      if (one.startMax < end && certain) found(one, 'overlap')
      else if (one.startMax < end + delay) found(one, 'short-delay')
    }

    const closed = before
      .filter((other) => other.place === row.place && [429, 503].includes(other.status))
      .filter((other) => other.path !== '/robots.txt' && chainOf(other) === undefined)
      .filter((other) => other.endMax + (other.lane === row.lane ? 0 : 1_000) <= row.start)
      .map((other) => other.endMin + retryAfterMs(other.retryAfter, other.endMin))
    if (closed.some((until) => row.startMax < until)) found(row, 'in-back-off')
  }

  for (const place of new Set(fetches.map(placeOf))) {
    const own = fetches
      .filter((fetch) => placeOf(fetch) === place)
      .sort((a, b) => rows.indexOf(a.first) - rows.indexOf(b.first))
    for (const [index, fetch] of own.entries()) {
      const earlier = own.slice(0, index)
      if (earlier.some((other) => fetch.first.startMax < lastOf(other).endMin)) found(fetch.first, 'robots-overlap')
      else if (fetch.hopsBefore === 0) {
        const ownFetches = earlier.filter(({ hopsBefore }) => hopsBefore === 0)
        const previous = ownFetches.at(-1)
        if (previous && fetch.first.startMax < lastOf(previous).endMin + pauseAfter(ownFetches, given))
          found(fetch.first, 'robots-too-often')
      }
    }
  }

  if (given.groups) judgeGroups(given.groups)
  function judgeGroups(groups: NonNullable<Case['groups']>): void {
    const clocksOf = (row: Row): Clock[] => groups(row.whose.name, row.origin, row.address)
    for (const name of new Set(rows.flatMap(clocksOf).map((clock) => clock.name))) {
      const members = rows.filter((row) => clocksOf(row).some((clock) => clock.name === name))
      if (new Set(members.map(({ origin }) => origin)).size < 2) continue
      for (const [index, row] of members.entries()) {
        const { places, delay } = clocksOf(row).find((clock) => clock.name === name)!
        const own = chainOf(row)?.parts ?? []
        const taken = members.slice(0, index).filter((other) => {
          // The parts of a chain are one exchange: its latest part so far stands for it.
          const chain = chainOf(other)
          const superseded = chain?.parts.some(
            (part) =>
              part !== other &&
              chain.parts.indexOf(part) > chain.parts.indexOf(other) &&
              members.slice(0, index).includes(part),
          )
          if (own.includes(other) || superseded) return false
          return row.startMax < other.endMin + (delay ?? longestOf(row, other))
        })
        if (taken.length >= places) found(row, 'pace-group')
      }
    }
  }
  function longestOf(row: Row, other: Row): number {
    const host = new URL(other.origin).hostname
    const places = new Set(
      rows
        .filter((one) => one.whose.party === other.whose.party && new URL(one.origin).hostname === host)
        .map(({ place }) => place),
    )
    return Math.max(...[...places].map((place) => delayAt(row, place, other.whose)))
  }
  return { offences: offences.sort(), unjudged }
}

function rowsOf({ exchanges, who }: Case): Row[] {
  return exchanges
    .flatMap((one, index): Row[] => {
      const whose = who(one.agent)
      if (whose === undefined) return []
      const url = new URL(one.origin)
      const origin = `${url.protocol}//${url.host.replace(/\.(:\d+)?$/, '$1')}`
      const late = one.cut ? Math.min(one.late ?? 25, one.end - one.start) : 0
      const resolution = one.resolution ?? 0
      return [
        {
          ...one,
          origin,
          at: index + 1,
          whose,
          lane: `${whose.name} ${origin}`,
          place: `${whose.party} ${origin}`,
          endMin: one.end - late,
          endMax: one.end + resolution,
          startMax: one.start + resolution,
        },
      ]
    })
    .sort((a, b) => a.start - b.start || a.endMax - b.endMax || a.at - b.at)
}

function chainsOf(rows: Row[]): Chain[] {
  const chains: (Chain & { given?: boolean })[] = []
  const targetOf = ({ location, origin, path }: Row): string | undefined => {
    const url = location === undefined ? null : URL.parse(location, origin + path)
    return url === null || !/^https?:$/.test(url.protocol) ? undefined : url.href.replace(/#.*$/, '')
  }
  for (const row of rows) {
    if (row.method !== 'GET') continue
    const [followed] = chains
      .filter(({ parts, given }) => {
        const last = parts.at(-1)!
        return (
          !given &&
          parts.length <= 5 &&
          last.whose.name === row.whose.name &&
          REDIRECTS.includes(last.status) &&
          !last.cut &&
          targetOf(last) === row.origin + row.path &&
          last.endMin <= row.startMax &&
          row.start <= last.endMax + 60_000
        )
      })
      .sort(({ parts: a }, { parts: b }) => {
        const [one, other] = [a.at(-1)!, b.at(-1)!]
        return one.endMin - other.endMin || rows.indexOf(one) - rows.indexOf(other)
      })
    if (followed) followed.parts.push(row)
    else if (row.path === '/robots.txt') {
      for (const chain of chains) if (chain.parts[0]!.lane === row.lane) chain.given = true
      chains.push({ parts: [row] })
    }
  }
  return chains
}

function fetchesOf(chain: Chain): Fetch[] {
  return chain.parts.flatMap((first, index): Fetch[] => {
    const asked = chain.parts
      .slice(0, index)
      .some((other) => other.path === '/robots.txt' && other.origin === first.origin)
    if (first.path !== '/robots.txt' || asked) return []
    return [{ origin: first.origin, party: first.whose.party, first, chain, hopsBefore: index }]
  })
}

const placeOf = ({ party, origin }: Fetch): string => `${party} ${origin}`
const lastOf = ({ chain }: Fetch): Row => chain.parts.at(-1)!

/** The meaning of an answer: the rows of the table. */
function meaningOf(fetch: Fetch, profile: string, givenUp: boolean): string {
  const last = lastOf(fetch)
  const { status } = last
  const friendly = profile === 'coccoc'
  if (givenUp && isDoubtful(fetch)) return 'unreachable'
  if (REDIRECTS.includes(status)) {
    if (fetch.chain.parts.length - 1 - fetch.hopsBefore >= 5) return 'open'
    return last.cut ? 'unreachable' : 'unknown'
  }
  if (status === 304) return 'renewed'
  if (status === 0) return 'unreachable'
  if (status === 200) return 'obey'
  if (status === 206) return friendly ? 'open' : profile === 'decorum' ? 'unreachable' : 'obey'
  if (status > 200 && status < 300) return friendly ? 'open' : 'obey'
  if (status === 429) return friendly || profile === 'rfc9309' ? 'open' : 'unreachable'
  if (status >= 400 && status < 500) return 'open'
  return friendly ? 'open' : 'unreachable'
}

const sizes = new Map<string, number>()
function isDoubtful(fetch: Fetch): boolean {
  const { cut, status, robots } = lastOf(fetch)
  return cut === true && status >= 200 && status < 300 && (robots === undefined || (sizes.get(robots) ?? 0) <= LIMIT)
}

type State = { kind: 'rules'; body: string | undefined } | { kind: 'all' | 'nothing' | 'unknown' }

const WINDOWS: Record<
  string,
  { nothing: number; until: number; without: 'all' | 'nothing'; last: 'all' | 'nothing' | 'copy' }
> = {
  decorum: { nothing: 12 * HOUR, until: 30 * DAY, without: 'nothing', last: 'nothing' },
  rfc9309: { nothing: 24 * HOUR, until: 30 * DAY, without: 'nothing', last: 'all' },
  google: { nothing: 12 * HOUR, until: 30 * DAY, without: 'all', last: 'all' },
  'google-2022': { nothing: 30 * DAY, until: 30 * DAY, without: 'all', last: 'copy' },
  coccoc: { nothing: Number.POSITIVE_INFINITY, until: Number.POSITIVE_INFINITY, without: 'nothing', last: 'nothing' },
}

/** The states after the n-th of these answers, at an instant: in an outage also that before it, while it may be fresh. */
function statesAfter(answers: Fetch[], n: number, profile: string, at: number, givenUp: boolean): State[] {
  let copy: State | undefined
  let state: State = { kind: 'unknown' }
  let since: number | undefined
  let good: Fetch | undefined
  for (const fetch of answers.slice(0, n + 1)) {
    const meaning = meaningOf(fetch, profile, givenUp)
    if (meaning === 'unreachable') {
      since ??= fetch.first.start
      continue
    }
    since = undefined
    good = fetch
    if (meaning === 'obey') state = copy = { kind: 'rules', body: lastOf(fetch).robots }
    else if (meaning === 'open') {
      state = { kind: 'all' }
      copy = undefined
    } else if (meaning === 'unknown') state = copy = { kind: 'unknown' }
    else state = copy ?? { kind: 'unknown' }
  }
  if (since === undefined) return [state]
  const fresh = good !== undefined && at - lastOf(good).endMax < DAY ? [state] : []
  const { nothing, until, without, last } = WINDOWS[profile]!
  if (at - since < nothing) return [{ kind: 'nothing' }, ...fresh]
  if (at - since < until) return [copy ?? { kind: without }, ...fresh]
  return [last === 'copy' ? (copy ?? { kind: 'all' }) : { kind: last }, ...fresh]
}

function statesInQuestion(
  row: Row,
  whose: Who,
  all: Fetch[],
  chain: Chain | undefined,
  { bodies }: Case,
): { states: State[]; last?: Fetch } {
  const own = chain === undefined ? -1 : all.findIndex((fetch) => fetch.chain === chain)
  const answers = own < 0 ? all : all.slice(0, own)
  const last = answers.findLastIndex((fetch) => lastOf(fetch).endMin <= row.startMax)
  if (last < 0) return { states: [] }
  const isSure = (fetch: Fetch): boolean =>
    lastOf(fetch).endMax + (fetch.first.whose.name === whose.name ? 0 : 1_000) <= row.start
  let first = last
  while (first > 0 && last - first < 15 && !isSure(answers[first]!)) first--
  const states: State[] = []
  for (let n = first; n <= last; n++)
    for (const givenUp of [false, true]) states.push(...statesAfter(answers, n, whose.profile, row.start, givenUp))
  if (last - first >= 15) states.push({ kind: 'unknown' })
  return {
    states: states.map((state) =>
      state.kind === 'rules' && bodies[state.body ?? ''] === undefined ? { kind: 'unknown' } : state,
    ),
    last: answers[last]!,
  }
}

// Rules of the small dialect.

type Group = { agents: string[]; rules: { allow: boolean; prefix: string }[]; delays: number[] }

const read = new Map<string, Group[]>()

function groupsIn(body: string): Group[] {
  const known = read.get(body)
  if (known !== undefined) return known
  if (read.size > 100) read.clear()
  const groups: Group[] = []
  read.set(body, groups)
  let open = false
  for (const line of body.split('\n')) {
    const [field = '', value = ''] = line.split(': ')
    if (field === 'User-agent') {
      if (!open) groups.push({ agents: [], rules: [], delays: [] })
      open = true
      groups.at(-1)!.agents.push(value.toLowerCase())
    } else if (field === 'Crawl-delay') groups.at(-1)!.delays.push(Number(value))
    else if (field !== '') {
      open = false
      if (value !== '') groups.at(-1)!.rules.push({ allow: field === 'Allow', prefix: value })
    }
  }
  return groups
}

function groupOf(body: string, { tokens, profile }: Who): Group | undefined {
  const names = tokens.map((token) => token.toLowerCase())
  if (profile === 'decorum' || profile === 'coccoc')
    for (const token of [...names])
      for (let at = token.lastIndexOf('-'); at > 0; at = token.lastIndexOf('-', at - 1)) names.push(token.slice(0, at))
  const groups = groupsIn(body)
  for (const name of [...names, '*']) {
    const own = groups.filter(({ agents }) => agents.includes(name))
    if (own.length > 0)
      return { agents: [name], rules: own.flatMap(({ rules }) => rules), delays: own.flatMap(({ delays }) => delays) }
  }
  return undefined
}

function allowedUnder(state: State, row: Row, { bodies }: Case): boolean {
  if (state.kind !== 'rules') return state.kind !== 'nothing'
  const rules =
    groupOf(bodies[state.body!]!, row.whose)?.rules.filter(({ prefix }) => row.path.startsWith(prefix)) ?? []
  const longest = Math.max(0, ...rules.map(({ prefix }) => prefix.length))
  const deciding = rules.filter(({ prefix }) => prefix.length === longest)
  return deciding.length === 0 || deciding.some(({ allow }) => allow)
}

function delayUnder(state: State, whose: Who, { bodies }: Case): number {
  const delays = state.kind === 'rules' && whose.honours ? (groupOf(bodies[state.body!]!, whose)?.delays ?? []) : []
  return delays.length === 0 ? whose.least : Math.max(whose.least, Math.min(Math.max(...delays) * 1_000, whose.most))
}

function retryAfterMs(value: string | undefined, at: number): number {
  if (value === undefined) return 0
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : value.endsWith(' GMT') ? Date.parse(value) - at : 0
  return Math.max(0, Math.min(ms, DAY))
}

function pauseAfter(own: Fetch[], { retryMs }: Case): number {
  const [first, busyFirst] = [retryMs ?? 60_000, Math.min(retryMs ?? 60_000, 30_000)]
  const after = (givenUp: boolean): number => {
    let failures = 0
    let busy = 0
    for (const fetch of own) {
      const failed = meaningOf(fetch, fetch.first.whose.profile, givenUp) === 'unreachable'
      const said503 = lastOf(fetch).status === 503 && !(givenUp && isDoubtful(fetch))
      failures = failed ? failures + 1 : 0
      busy = said503 ? busy + 1 : 0
    }
    const last = own.at(-1)!
    if (meaningOf(last, last.first.whose.profile, givenUp) === 'unknown') return Math.min(busyFirst, 240_000)
    if (failures === 0) return 240_000
    const slow = Math.min(first * 2 ** (failures - 1), Math.max(HOUR, first))
    const quick = Math.min(busyFirst * 2 ** (busy - 1), 300_000)
    return Math.max(busy > 0 ? Math.min(slow, quick) : slow, retryAfterMs(lastOf(last).retryAfter, lastOf(last).endMin))
  }
  return Math.min(after(false), after(true))
}
