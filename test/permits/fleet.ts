/** A fleet with permits for one test, recording sites, and an outside crawler that sends only with leave. */
import { setTimeout as sleep } from 'node:timers/promises'
import { agentsOf, judgeRecord, type Report } from '@decorum/audit'
import { type Fleet, startFleet } from '@decorum/cli'
import { afterAll, expect, onTestFinished } from 'vitest'
import { fleetEnv, LONG_LEASES, TIMES } from '../journey/fleet.ts'
import { type RecordedWeb, recordedWeb, type Site } from '../support/origins/index.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

const UA = 'Mozilla/5.0 (compatible; journeybot/1.0; +https://example.com/bot)'

export type Answer = { status: number; body: Record<string, unknown> & { permit?: string }; headers: Headers }
export type PermitFleet = {
  web: RecordedWeb
  fleet: Fleet
  redis: TestRedis
  /** of the n-th permits process */
  url(n?: number): string
  /** Asks again where the ledger answered too late, as a busy machine may have it: a holder does so, too. */
  call(method: string, path: string, body?: object, options?: CallOptions): Promise<Answer>
  /**
   * Sends a request under a permit, to the last octet of its answer.
   * @returns undefined when no answer came, `ended` when the lease was over before it was sent or answered
   */
  send(permit: string | undefined, url: string, init: RequestInit, options?: CallOptions): Promise<Sent>
  ask(body: object, options?: CallOptions): Promise<Answer>
  complete(permit: string | undefined, body?: object, options?: CallOptions): Promise<Answer>
  /** asks, in turn, until it is granted or refused; sends; completes. @returns the status of the page, or the refusal's type */
  fetch(url: string, options?: CallOptions & { agent?: string }): Promise<number | string>
  audit(): Promise<Report>
  expectPolite(): Promise<Report>
}
/** `away`: an answer that the ledger is away is what the caller wants to see */
type CallOptions = { on?: number; headers?: Record<string, string>; signal?: AbortSignal; away?: true }
export type Sent = { status: number; headers: Headers; body: ArrayBuffer } | 'ended' | undefined
/** What an order or a permit says: the request leaves within so many ms of its answer. */
const SEND_WITHIN_MS = 1_000
export type FleetOptions = {
  permits?: number
  proxies?: number
  fetchers?: number
  gateways?: number
  env?: NodeJS.ProcessEnv
  /** absent: one of its own; and by which way the fleet reaches it */
  redis?: TestRedis
  url?: string
}
type Running = { fleet: Fleet; redis: TestRedis }
/** Hands in what has to be done when what was started is no longer needed. */
type Ending = (end: () => Promise<unknown>) => void

async function start(options: FleetOptions, ending: Ending): Promise<Running> {
  const { permits = 1, proxies = 0, fetchers = 1, gateways = 1, env = {} } = options
  const redis = options.redis ?? (await startRedis()) // the settings of a fleet are kept in its Redis, and those of tests differ
  if (options.redis === undefined) ending(() => redis.stop())
  const fleet = await startFleet({ env: fleetEnv(options.url ?? redis.url, env), gateways, fetchers, permits, proxies })
  ending(() => fleet.stop(5_000))
  return { fleet, redis }
}

/** A fleet of this test alone, before these sites. */
export async function permitFleet(sites: Site[], options: FleetOptions = {}): Promise<PermitFleet> {
  const [web, running] = await settled([
    webOfTest(sites),
    start(options, (end) => onTestFinished(async () => void (await end()))),
  ])
  return before(web, running)
}

/**
 * One fleet for several tests, each before sites of its own. It is started by the first of them, and stopped after the last one of
 * the file, or of the `describe`, at whose top this is called.
 */
export function sharedPermitFleet(options: FleetOptions = {}): (sites: Site[]) => Promise<PermitFleet> {
  let running: Promise<Running> | undefined
  const ends: (() => Promise<unknown>)[] = []
  afterAll(async () => {
    await running?.catch(() => undefined)
    for (const end of ends.reverse()) await end()
  })
  let known = 0
  return async (sites) => {
    running ??= start(options, (end) => ends.push(end))
    const web = webOfTest(sites, known)
    known += sites.length
    return before(...(await settled([web, running])))
  }
}

/** @param known  hosts that the fleet remembers, and may still have leases for: these sites have others */
async function webOfTest(sites: Site[], known = 0): Promise<RecordedWeb> {
  const web = await recordedWeb(sites, { skipAddresses: known })
  onTestFinished(() => web.close())
  return web
}

/** Both, once neither is still being started: what one of them fails with comes after the other can be ended. */
async function settled<A, B>([one, other]: [Promise<A>, Promise<B>]): Promise<[A, B]> {
  await Promise.allSettled([one, other])
  return Promise.all([one, other])
}

function before(web: RecordedWeb, { fleet, redis }: Running): PermitFleet {
  const url = (n = 0): string => `http://127.0.0.1:${fleet.of('permits')[n]?.port}`
  const callOnce = async (
    method: string,
    path: string,
    body: object | undefined,
    { on, headers, signal }: CallOptions,
  ): Promise<Answer> => {
    const response = await fetch(url(on) + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text), headers: response.headers }
  }
  const call: PermitFleet['call'] = async (method, path, body, options = {}) => {
    for (;;) {
      const answer = await callOnce(method, path, body, options)
      if (options.away === true || answer.body.type !== 'ledger-away') return answer
      await sleep(50)
    }
  }
  /** The answer to an extension is read at once, or once more: the one to a question that waited long may have lain unread. */
  const stillHeldMs = async (permit: string | undefined, options?: CallOptions): Promise<number> => {
    for (;;) {
      const at = performance.now()
      const { status, body } = await call('PATCH', `/v1/permits/${permit}`, {}, options)
      if (status !== 200) return 0
      const ms = performance.now() - at
      if (ms < SEND_WITHIN_MS) return Math.floor(Number(body.leaseMs) - ms)
    }
  }
  const self: PermitFleet = {
    web,
    fleet,
    redis,
    url,
    call,
    async send(permit, target, init, options) {
      const heldMs = await stillHeldMs(permit, options)
      if (heldMs <= 0) return 'ended'
      const signal = AbortSignal.timeout(heldMs)
      try {
        const answer = await fetch(target, { ...init, redirect: 'manual', signal })
        return { status: answer.status, headers: answer.headers, body: await answer.arrayBuffer() }
      } catch {
        return signal.aborted ? 'ended' : undefined
      }
    },
    ask: (body, options) => call('POST', '/v1/permits', body, options),
    complete: (permit, body = {}, options) => call('POST', `/v1/permits/${permit}/completion`, body, options),
    async fetch(target, options = {}) {
      for (;;) {
        const { agent, ...rest } = options
        const asked = await self
          .ask({ url: target, waitMs: 5_000, ...(agent === undefined ? {} : { agent }) }, rest)
          .catch(() => undefined)
        if (asked === undefined || asked.status === 503) await sleep(50)
        else if (asked.status === 200) await sleep(Math.min(200, Number(asked.body.retryAfterMs)))
        else if (asked.status !== 201) return String(asked.body.type)
        else {
          const { permit, userAgent } = asked.body
          const page = await self
            .send(permit, target, { headers: { 'user-agent': String(userAgent) } }, rest)
            .catch(() => 'ended' as const) // the permits process was killed
          if (page === 'ended') {
            await call('DELETE', `/v1/permits/${permit}`, undefined, rest).catch(() => undefined)
            continue
          }
          const said =
            page === undefined
              ? { error: 'reset' }
              : { status: page.status, retryAfter: page.headers.get('retry-after') ?? undefined }
          await self.complete(permit, said, rest).catch(() => undefined)
          return page?.status ?? 0
        }
      }
    },
    audit: async () =>
      judgeRecord(await web.evidence(), {
        agents: agentsOf({
          agent: 'journeybot',
          profile: 'decorum',
          minDelayMs: TIMES.delayMs,
          maxDelayMs: TIMES.capMs,
        }),
        robotsRetryMs: TIMES.robotsRetryMs,
      }),
    async expectPolite() {
      const report = await self.audit()
      expect(report.examples, 'violations that the sites recorded').toEqual([])
      return report
    },
  }
  return self
}

export { LONG_LEASES, TIMES, UA }
