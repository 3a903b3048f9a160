/** A verdict for people: each promise with its figure. */
import { printRows, type Rows } from './print-rows.ts'
import { longestOf } from './stalls.ts'
import type { StormResult } from './storm.ts'

const share = (list: number[], part: number): number =>
  list[Math.min(list.length - 1, Math.floor(list.length * part))] ?? Number.NaN
const s = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

export function printVerdict({ facts, verdict, holders, proxied, troubles, ms }: StormResult): string {
  const { faults, times, book } = facts
  const { report, extra, backMs, afterHoldMs } = verdict
  const count = (list: { role: string }[], role: string): number => list.filter((one) => one.role === role).length
  const tails = faults.outages.filter(({ lostSince, killedAt }) => lostSince < killedAt)
  const within = times.leaseMs + times.quarantineMs + 5_000
  const deaths = count(faults.kills, 'fetcher') + count(faults.freezes, 'fetcher')
  const rows: Rows = [
    ['length', s(ms)],
    ['requests heard by sites', `${report.requests} at ${report.origins} origins`],
    [
      'kills',
      `${count(faults.kills, 'gateway')} gateways, ${count(faults.kills, 'fetcher')} fetchers, ${count(faults.kills, 'permits')} permits processes, ${count(faults.kills, 'proxy')} proxies`,
    ],
    [
      'exchanges under permits',
      Object.entries(holders.exchanges)
        .map(([mode, n]) => `${mode} ${n}`)
        .join(', '),
    ],
    [
      'clients of proxies',
      Object.entries(proxied.ways)
        .map(([way, n]) => `${way} ${n}`)
        .join(', '),
    ],
    [
      'their answers (0: none came)',
      Object.entries(proxied.answers)
        .map(([status, n]) => `${status} ${n}`)
        .join(', '),
    ],
    ['permits that were gone, that could not be extended any more', `${holders.gone}, ${holders.ended}`],
    ['in line for one lane: granted, before an earlier one', `${holders.inLine.granted}, ${holders.inLine.outOfOrder}`],
    [
      'freezes',
      `${count(faults.freezes, 'gateway')} gateways, ${count(faults.freezes, 'fetcher')} fetchers (${faults.freezes.filter(({ whom }) => whom === 'child').length} under a supervisor), ${count(faults.freezes, 'proxy')} proxies`,
    ],
    [
      'Redis restarts',
      `${faults.outages.length}, ${tails.length} without the last second (${tails.map(({ lostBytes }) => `${lostBytes} B`).join(', ')})`,
    ],
    ['Redis restarts whose hold could not be judged, because the machine stood still', String(verdict.unjudgedHolds)],
    ['links to Redis hurt', String(faults.hurts.length)],
    [
      'longer delays by configuration',
      `${faults.configs.length} applied and rolled back; ${verdict.underLongerDelay.reduce((sum, n) => sum + n, 0)} requests judged by them`,
    ],
    ['longest stall of the machine', s(longestOf(facts.stalls))],
    ['violations', String(verdict.violations.length)],
    [
      'residual: exchanges that a frozen fetcher or proxy held open beyond its lease',
      `${verdict.heldOpen.length}, with ${verdict.residual.length} requests on top of them`,
    ],
    ['smallest slack', `${report.smallestSlackMs?.toFixed(1)} ms`],
    ['accepted = outcomes + stored', `${verdict.accepted} = ${verdict.outcomes} + ${verdict.stored}`],
    ['lost', String(verdict.lost.length)],
    [
      'lost with the last second of the file',
      `${verdict.lostWithTail.length}${verdict.lostWithTail.length > 0 ? `: ${verdict.lostWithTail.slice(0, 20).join(' ')}` : ''}`,
    ],
    [
      'in that second',
      tails
        .map(({ lostSince, killedAt }) => {
          const within = (list: number[]): number => list.filter((at) => at >= lostSince && at <= killedAt).length
          const delivered = [...book.outcomes.values()].flat().map(({ at }) => at)
          return `${within([...book.accepted.values()].map(({ at }) => at))} accepted, ${within(delivered)} outcomes delivered, ${within(facts.evidence.requests.map(({ start }) => start))} requests`
        })
        .join('; '),
    ],
    ['second outcomes', String(verdict.doubled.length)],
    ['second outcomes of what the file forgot', String(verdict.doubledWithTail.length)],
    ['entries handed out again (acknowledgement lost)', String(book.redelivered)],
    [
      'extra requests',
      `${extra.kill} by kills, ${extra.freeze} by freezes of ${deaths} fetchers (${((extra.kill + extra.freeze) / deaths).toFixed(2)} each, at most ${verdict.mostPerDeath} of ${facts.slots} slots); ${extra.redis} by Redis restarts, ${extra.link} by hurt links`,
    ],
    [
      'killed lanes back',
      `${backMs.length} seen: p50 ${s(share(backMs, 0.5))}, p99 ${s(share(backMs, 0.99))}, most ${s(backMs.at(-1) ?? Number.NaN)} (${backMs.filter((one) => one <= within).length} within ${s(within)}, later only when the next holder died as well)`,
    ],
    ['first request after a hold', afterHoldMs.map(s).join(', ')],
  ]
  return printRows(rows, { troubles, broken: verdict.broken, late: verdict.late })
}
