/** A fleet with proxies for one test, recording sites, and a client that speaks to a proxy as crawlers do. */
import { execFile } from 'node:child_process'
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { type FleetOptions, type PermitFleet, sharedPermitFleet } from '../permits/fleet.ts'
import type { Site } from '../support/origins/index.ts'
import { programOf } from '../support/programs.ts'

export type ProxyFleet = PermitFleet & {
  /** of the n-th proxy */
  proxy(n?: number): string
}

/** On a busy machine much of a test takes longer than a lease of seconds, and nobody dies here. */
const LONG = { LEASE_MS: '60000', FETCH_DEADLINE_MS: '30000' }

/** One fleet for several tests, each before sites of its own. */
export function sharedProxyFleet({ env, ...options }: FleetOptions = {}): (sites: Site[]) => Promise<ProxyFleet> {
  const open = sharedPermitFleet({ permits: 0, proxies: 1, ...options, env: { ...LONG, ...env } })
  return async (sites) => {
    const before = await open(sites)
    return { ...before, proxy: (n = 0) => `http://127.0.0.1:${before.fleet.of('proxy')[n]?.port}` }
  }
}

export type Got = { status: number; headers: IncomingMessage['headers']; body: string; raw: string[] }
export type Asking = { method?: string; headers?: Record<string, string>; body?: string | Buffer; signal?: AbortSignal }

/** Asks a proxy for a whole URL, on a connection of its own. */
export function get(
  proxy: string,
  url: string,
  { method = 'GET', headers = {}, body, signal }: Asking = {},
): Promise<Got> {
  const { hostname, port } = new URL(proxy)
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        hostname,
        port,
        path: url,
        method,
        agent: false,
        setHost: false,
        ...(signal && { signal }),
        headers: { host: new URL(url, proxy).host, ...headers },
      },
      (answer) => {
        const pieces: Buffer[] = []
        answer.on('data', (piece: Buffer) => pieces.push(piece))
        answer.once('error', reject)
        answer.once('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            raw: answer.rawHeaders,
            body: Buffer.concat(pieces).toString(),
          }),
        )
      },
    )
    asking.once('error', reject)
    asking.end(body)
  })
}

/** A site of the test's own, for what the recording sites do not do. @returns its origin */
export async function ownSite(address: string, answer: RequestListener): Promise<{ origin: string; server: Server }> {
  const server = createServer(answer).listen(0, address)
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://${address}:${(server.address() as AddressInfo).port}`, server }
}

/** An answer over HTTP/1.1 or HTTP/2. */
type Taking = { write(piece: Buffer): boolean; once(event: 'drain', act: () => void): unknown; end(): unknown }

/** An answer of `most` bytes, written as fast as it is taken. `written()`: so many bytes so far */
export function largeAnswer(most: number): { answer: (response: Taking) => void; written: () => number } {
  let written = 0
  const piece = Buffer.alloc(64 * 1024)
  const answer = (response: Taking): void => {
    const more = (): void => {
      while (written < most) {
        written += piece.length
        if (!response.write(piece)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  }
  return { answer, written: () => written }
}

/** Resolves when a count that has begun grows no more. */
export async function standsStill(count: () => number): Promise<void> {
  let before = -1
  const stands = (): boolean => {
    const isSame = count() === before
    before = count()
    return isSame && before > 0
  }
  await expect.poll(stands, { interval: 300 }).toBe(true)
}

/** Where a program is; undefined, and a line that says so, where this machine has none. */
export function installed(name: string): string | undefined {
  const path = programOf(name)
  if (path === undefined) process.stdout.write(`skipped: ${name} is not installed here\n`)
  return path
}

export type Ran = { code: number; stdout: string; stderr: string }
/** On a busy machine a turn may come late; only what hangs is ended. */
export const run = (program: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: 200_000, env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr }),
    )
  })
