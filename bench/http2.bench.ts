/**
 * One lane at one site with TLS, one request after the other: what its pages cost, and how long each takes, with HTTP/2 and without it
 * (the agent's setting `http2`), by turns.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { addressGuard } from '@decorum/politeness/admission'
import { systemClock } from '@decorum/protocol'
import { exchange, headersOf, openConnections, openLookup } from '@decorum/sending/testing'
import { agentsOf } from '../test/fetcher/support/agents.ts'
import { median, round, spread, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'

const ROUNDS = 8
const PAGES = 150

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const rows: string[][] = []
  for (const size of [1_000, 100_000]) {
    const site = fork(fileURLToPath(new URL('http2/origin.ts', import.meta.url)), [String(size)])
    const [port] = (await once(site, 'message')) as [number]
    const ca = readFileSync(new URL('../test/fetcher/certs/ca.pem', import.meta.url))
    const connections = openConnections({
      clock: systemClock,
      guard: addressGuard(['127.0.0.0/8']),
      lookup: openLookup(systemClock),
      tls: { ca },
    })
    const lanes = [lane(true), lane(false)]
    for (let nth = short ? 1 : -1; nth < (short ? 2 : ROUNDS); nth++)
      for (const one of lanes) {
        const figures = await pages(one.http2)
        if (nth >= 0) one.rounds.push(figures) // the first rounds connect, and warm up
      }
    const [first = lane(true)] = lanes
    for (const { http2, rounds } of lanes) {
      const ratio = median(rounds.map(({ cpuMicros }, at) => (first.rounds[at]?.cpuMicros ?? 0) / cpuMicros))
      rows.push([
        `${size / 1_000} KB, ${http2 ? 'HTTP/2' : 'HTTP/1.1'}`,
        spread(
          rounds.map(({ cpuMicros }) => 1e6 / cpuMicros),
          0,
        ),
        `${round(ratio * 100, 0)} %`,
        spread(
          rounds.map(({ p50 }) => p50),
          2,
        ),
        spread(
          rounds.map(({ p99 }) => p99),
          2,
        ),
      ])
    }
    await connections.close()
    const gone = once(site, 'exit')
    site.disconnect()
    await gone

    async function pages(http2: boolean): Promise<Figures> {
      const [agent] = agentsOf({
        agents: JSON.stringify([{ name: 'decorum', userAgent: 'decorum/1 (+https://example.com/bot)', http2 }]),
      }).list
      if (agent === undefined) throw new Error('there is no agent')
      const origin = `https://127.0.0.1:${port}`
      const way = connections.lane({ ...agent, key: `${agent.key}-${http2}` }, origin)
      const took: number[] = []
      const before = process.cpuUsage()
      for (let at = 0; at < PAGES; at++) {
        const startedAt = performance.now()
        const result = await exchange({
          way,
          origin,
          path: `/${at}`,
          headers: headersOf(agent),
          deadlineMs: 30_000,
          maxBytes: 1_000_000,
          lastCheck: () => undefined,
          confirm: () => undefined,
          keepBody: () => false,
        })
        took.push(performance.now() - startedAt)
        const spoken = result.kind === 'answered' ? result.protocol : result.kind
        if (spoken !== (http2 ? 'h2' : 'http/1.1')) throw new Error(`the site was spoken to in ${spoken}`)
        if (result.kind === 'answered') await result.body.digest()
      }
      const { user, system } = process.cpuUsage(before)
      took.sort((a, b) => a - b)
      const at = (share: number): number => took[Math.floor(took.length * share)] ?? 0
      return { cpuMicros: (user + system) / PAGES, p50: at(0.5), p99: at(0.99) }
    }
  }
  return {
    name: 'http2: what HTTP/2 costs',
    lines: [
      `One lane at one site with TLS 1.3 on loopback, one request after the other over one connection, ${PAGES} pages a turn; processor time of the asking process with all its threads, digest included. Median (least–greatest) of ${ROUNDS} turns; the ratio is that of neighbouring turns.`,
      '',
      ...table(['body, protocol', 'pages per CPU second', 'of HTTP/2', 'ms, p50', 'ms, p99'], rows),
    ],
  }
}

type Figures = { cpuMicros: number; p50: number; p99: number }
const lane = (http2: boolean): { http2: boolean; rounds: Figures[] } => ({ http2, rounds: [] })
