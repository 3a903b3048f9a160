/** GET /v1/outcomes in its two forms, POST /v1/outcomes/ack, and the readers: GET and DELETE /v1/readers. */
import { type Frontier, openFrontier } from '@decorum/client'
import { type ByZod, Problem } from '@decorum/runtime/http-api'
import type { FastifyInstance } from 'fastify'
import { routes } from './contract.ts'
import { OutcomeReaders } from './outcome-readers.ts'
import { pollOutcomes } from './outcomes-poll.ts'
import { streamOutcomes } from './outcomes-stream.ts'
import { type ApiParts, unavailable } from './parts.ts'

/** Most outcomes in one answer, and most unacknowledged outcomes of a stream, if the request gives no number. */
const POLLED = 100
const STREAMED = 1_000

export function addOutcomes(scope: FastifyInstance, parts: ApiParts): void {
  const { config, redisAnswers } = parts
  const readers = new OutcomeReaders()
  const shared = sharedFrontier(parts.frontier ?? (() => openFrontier({ redis: config.redisUrl })))
  scope.addHook('preClose', async () => {
    await readers.close()
    await shared.close()
  })
  const api = scope.withTypeProvider<ByZod>()
  /**
   * The stream writes to the socket itself. @fastify/sse 0.6 was read: its send waits until the response accepts more, and with
   * `ack=sent` an outcome is acknowledged only when the operating system has accepted its bytes.
   */
  api.route({
    ...routes.readOutcomes,
    async handler(request, reply) {
      const { follow, max, waitMs, ack, ...who } = request.query
      const isStream = wantsStream(request.headers.accept, request.query)
      if (!isStream && ack === 'sent')
        return new Problem(400, 'bad-request', 'ack: one answer is acknowledged by POST /v1/outcomes/ack alone')
      const place = await readers.enter({ ...who, client: request.ip })
      if (place instanceof Problem) return place
      try {
        reply.raw.once('close', place.abandon)
        if (reply.raw.destroyed) place.abandon() // the client left while the previous reader of that name was ending
        if (!(await redisAnswers())) return unavailable('no answer')
        const frontier = await shared.get()
        if (!isStream) {
          const wish = { ...who, max: max ?? POLLED, waitMs: waitMs ?? 0 }
          return { outcomes: await pollOutcomes(frontier, wish, place.gone) }
        }
        // Outcomes that are stored after the answer has begun must reach the client, so a group that begins now is created before it.
        const { from, ...whoReads } = who
        if (from === 'now') await frontier.createGroup(who)
        if (place.gone.aborted) return new Problem(503, place.why(), 'this stream was ended before it began')
        reply.hijack()
        reply.raw.writeHead(200, {
          ...(reply.getHeaders() as Record<string, string>),
          'content-type': 'text/event-stream; charset=utf-8',
          'x-accel-buffering': 'no', // nginx would hold events back
        })
        const wish = { ...whoReads, follow, ack, max: max ?? STREAMED }
        await streamOutcomes(frontier, wish, reply.raw, place, config.heartbeatMs)
        return await reply
      } finally {
        place.leave()
      }
    },
  })
  api.route({
    ...routes.acknowledgeOutcomes,
    async handler({ body: { consumer, ...body } }) {
      const frontier = await shared.get()
      const { count } = await frontier.acknowledge({ ...body, ...(consumer === undefined ? {} : { consumer }) })
      return { acknowledged: count }
    },
  })
}

/** Whether the answer is a stream: it is, unless the media type or a parameter selects a single answer. */
function wantsStream(accept = '', { waitMs }: { waitMs?: number | undefined }): boolean {
  if (accept.includes('text/event-stream')) return true
  return !accept.includes('application/json') && waitMs === undefined
}

/** One connection for all requests, opened by the first; it reconnects automatically. */
function sharedFrontier(open: () => Promise<Frontier>): { get(): Promise<Frontier>; close(): Promise<void> } {
  let opened: Promise<Frontier> | undefined
  return {
    get() {
      opened ??= open().catch((error: unknown) => {
        opened = undefined
        throw error
      })
      return opened
    },
    async close() {
      await (await opened?.catch(() => undefined))?.close()
    },
  }
}
