/**
 * A synthetic web that keeps its own record: many origins on loopback addresses, one process, one monotonic clock.
 * Runs in the calling process; web-process.ts runs it in a separate one, so that a busy fleet does not delay its record.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { defined } from '@decorum/runtime/defined'
import { receivedLate, serve, startPulse } from './answer.ts'
import { type Answer, answerOf, type Script, type Site } from './behaviour.ts'
import { now } from './clock.ts'
import { openRecorder } from './recorder.ts'

/** Not imported, for the reason in @decorum/runtime/node-http. */
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')
const UNHURRIED = { keepAliveTimeout: 30_000, requestTimeout: 0, headersTimeout: 0 }

export type WebOptions = {
  sites: Site[]
  /** file of the record, NDJSON; an existing file is appended to */
  record: string
  /** the port of all sites, which have one address each; absent: any free port */
  port?: number
  /** number of addresses left to sites of other webs: a fleet's state of a host would apply to another site there; default 0 */
  skipAddresses?: number
  /** one address for all sites, which are then called `name.test` and distinguished by the Host header */
  address?: string
  /** certificate and key, PEM, with which all sites speak HTTP/1.1 over TLS; absent: without TLS */
  tls?: { cert: string; key: string }
}

/** The beginning or end of a request, reported at once by a site with `announce`. */
export type Announcement = {
  kind: 'began' | 'ended'
  site: string
  path: string
  at: number
  status?: number
  cut?: boolean
}

export type Web = Awaited<ReturnType<typeof startWeb>>

const NOT_FOUND: Answer = { status: 404, body: 'nothing here' }
const PAGE: Answer = { bytes: 1_024 }
/** 127.40.0.1 onwards: far from the addresses that other software on this machine may listen on. */
const addressOf = (index: number): string => `127.40.${index >> 8}.${index & 255}`
const PORT_TRIES = 20

/** Runs the sites in this process. @throws Error when an address or port is taken, or the file cannot be opened */
export async function startWeb(options: WebOptions, announce: (word: Announcement) => void = () => undefined) {
  const recorder = await openRecorder(options.record)
  const { address, skipAddresses = 0, tls } = options
  const scheme = tls === undefined ? 'http' : 'https'
  const places =
    address === undefined ? options.sites.map((_, index) => addressOf(skipAddresses + index + 1)) : [address]
  const { servers, port } = await listen(places, options.port, tls)
  const origins: Record<string, string> = {}
  for (const [index, site] of options.sites.entries()) {
    if (site.name in origins) throw new Error(`two sites are called ${site.name}`)
    origins[site.name] = `${scheme}://${address === undefined ? places[index] : `${site.name}.test`}:${port}`
  }
  // Placeholders are replaced here once, not in each answer.
  const sites = JSON.parse(
    JSON.stringify(options.sites).replaceAll(/\{origin:([^}"]+)\}/g, (_, name: string) => originIn(origins, name)),
  ) as Site[]

  const pulse = startPulse()
  const sockets = new Set<Socket>()
  const counts = new Map<string, number>()
  const next = (key: string, script: Script): Answer => {
    const n = counts.get(key) ?? 0
    counts.set(key, n + 1)
    return answerOf(script, n)
  }
  const answerFor = (site: Site, path: string): Answer => {
    const own = site.paths?.[path]
    if (own !== undefined) return next(`${site.name} ${path}`, own)
    if (path === '/robots.txt') return next(`${site.name} robots`, site.robots ?? NOT_FOUND)
    const page = next(`${site.name} pages`, site.pages ?? PAGE)
    return page.body === undefined && page.bytes === undefined && (page.status ?? 200) === 200
      ? { ...PAGE, ...page }
      : page
  }

  /** site and User-Agent → end of the last complete answer: the agent's next request is taken to have arrived later */
  const answered = new Map<string, number>()
  const handlers = sites.map((site) => (request: IncomingMessage, response: ServerResponse): void => {
    const lane = `${site.name} ${request.headers['user-agent'] ?? ''}`
    const receivedAt = now()
    const start = Math.min(receivedAt, Math.max(receivedAt - receivedLate(), answered.get(lane) ?? 0))
    const path = request.url ?? ''
    const answer = answerFor(site, path)
    // A text/plain body may also contain rules: the target of a redirected robots.txt.
    const rules = answer.body !== undefined && (path === '/robots.txt' || answer.type === 'text/plain')
    if (site.announce) announce({ kind: 'began', site: site.name, path, at: receivedAt })
    serve(
      {
        origin: origins[site.name] ?? '',
        ...defined({ address }),
        start,
        resolution: receivedAt - start,
        request,
        response,
      },
      answer,
      rules ? recorder.robots(answer.body ?? '') : undefined,
      (line) => {
        if (line.cut !== true) answered.set(lane, line.end)
        recorder.request(line)
        if (site.announce) {
          const { status, end, cut } = line
          announce({ kind: 'ended', site: site.name, path, at: end, status, ...(cut ? { cut } : {}) })
        }
      },
    )
  })
  const named = new Map(sites.map((site, index) => [`${site.name}.test:${port}`, handlers[index]]))
  const byName = (request: IncomingMessage, response: ServerResponse) => {
    const handler = named.get(request.headers.host ?? '')
    if (handler === undefined) request.socket.destroy()
    else handler(request, response)
  }
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.setNoDelay(true)
  }
  for (const [index, handler] of (address === undefined ? handlers : [byName]).entries())
    servers[index]?.on('request', handler).on('connection', keep).on('secureConnection', keep)

  return {
    /** name → origin */
    origins,
    /** Resolves when all that happened so far is in the file. */
    flush: recorder.flush,
    /** Closes every connection; resolves with the number of lines in the record when the file is complete. */
    stop: async () => {
      const closed = servers.map((server) => new Promise<unknown>((resolve) => server.close(resolve)))
      const gone = [...sockets].map((socket) => new Promise<unknown>((resolve) => socket.once('close', resolve)))
      for (const socket of sockets) socket.destroy()
      await Promise.all([...closed, ...gone])
      await new Promise((resolve) => setImmediate(resolve)) // answers that are cut off here are recorded on 'close'
      clearInterval(pulse)
      return recorder.close()
    },
  }
}

function originIn(origins: Record<string, string>, name: string): string {
  const origin = origins[name]
  if (origin === undefined) throw new Error(`no site is called ${name}`)
  return origin
}

/** One listening socket per address, all on one port. */
async function listen(
  places: (string | undefined)[],
  wanted: number | undefined,
  tls: WebOptions['tls'],
): Promise<{ servers: Server[]; port: number }> {
  for (let attempt = 1; ; attempt++) {
    const servers: Server[] = []
    let port = wanted ?? 0
    try {
      for (const host of places) {
        const server = tls === undefined ? http.createServer(UNHURRIED) : https.createServer({ ...UNHURRIED, ...tls })
        servers.push(server)
        server.listen({ port, host, backlog: 511 })
        await once(server, 'listening')
        port = (server.address() as AddressInfo).port
      }
      return { servers, port }
    } catch (error) {
      for (const server of servers) server.close()
      if (codeOf(error) === 'EADDRNOTAVAIL') {
        throw new Error(
          `this system has no address ${places[servers.length - 1]}: Linux has all of 127.0.0.0/8, others need aliases`,
        )
      }
      // A port that is free on the first address may be taken on another.
      if (wanted !== undefined || attempt === PORT_TRIES || codeOf(error) !== 'EADDRINUSE') throw error
    }
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code
