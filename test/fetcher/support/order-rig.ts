/** One order with a ledger that answers as the test says: what it was told, and how often it was asked. The site is real. */

import { carryOut, noSink, openStats, type Tools } from '@decorum/fetcher/testing'
import {
  type Completion,
  LedgerUnavailableError,
  type Resolution,
  type RobotsFetchEnd,
  type RobotsRecord,
  type StartAnswer,
} from '@decorum/ledger'
import { loadPaceGroups } from '@decorum/politeness'
import { systemClock } from '@decorum/protocol'
import { untilOver } from '@decorum/sending'
import { siteAnswers } from '@decorum/sending/robots'
import type { Lookup } from '@decorum/sending/testing'
import { onTestFinished, vi } from 'vitest'
import { NOW } from './orders.ts'
import { agentsOf, testConnections } from './tools.ts'

type Script = Partial<Tools['ledger']> & { permits?: StartAnswer[] }

export function rig(script: Script = {}, over: Partial<Tools> = {}) {
  const settled: Completion[] = []
  const recorded: RobotsRecord[] = []
  const ended: RobotsFetchEnd[] = []
  const late: Parameters<Tools['ledger']['reportLate']>[0][] = []
  const released: Resolution[] = []
  const started: number[] = []
  const problems: string[] = []
  const permits = [...(script.permits ?? [])]
  const ledger: Tools['ledger'] = {
    start: async () => {
      started.push(performance.now())
      return permits.shift() ?? { kind: 'granted', leaseMs: 45_000 }
    },
    complete: async (completion) => {
      settled.push(completion)
      return 'completed'
    },
    reportLate: (asked) => void late.push(asked),
    confirm: async () => 'granted',
    acquire: async () => ({ kind: 'wait', gate: 'delay', waitMs: 60_000 }),
    next: async () => ({ kind: 'granted', waitMs: 0, turn: { at: '', endedAt: '' } }),
    record: async (robotsRecord) => {
      recorded.push(robotsRecord)
      return 'completed'
    },
    endRobotsFetch: async (end) => {
      ended.push(end)
      return 'completed'
    },
    robotsStates: async () => [{ version: 0, state: {} }],
    body: async () => undefined,
    resolve: async (_, words) => {
      released.push(...words)
      return words.map(() => 'completed' as const)
    },
    clock: systemClock,
    partitionOf: () => 0,
    stops: { why: () => undefined, hasAddresses: () => false },
    now: () => NOW,
    wall: () => NOW,
    ...script,
  }
  const stats = openStats({ size: 1, taken: 0, waiting: 0 })
  const log = {
    warn: (_: object, message: string) => problems.push(message),
    error: (_: object, message: string) => problems.push(message),
  }
  const connections = testConnections()
  onTestFinished(() => connections.close())
  const tools: Tools = {
    ledger,
    connections,
    agents: agentsOf(),
    groups: loadPaceGroups(undefined),
    addressOf: (over.connections ?? connections).addressOf,
    reporter: untilOver(systemClock, stats),
    sink: noSink,
    siteAnswers: siteAnswers(over.agents ?? agentsOf()),
    stats,
    log,
    pageMaxBytes: 1_000_000,
    maxAttempts: 5,
    fetchDeadlineMs: 30_000,
    leaseMs: 45_000,
    isStopping: () => false,
    ...over,
  }
  return {
    tools,
    settled,
    recorded,
    ended,
    late,
    released,
    started,
    problems,
    stats,
    run: (order: Parameters<typeof carryOut>[0]) => carryOut(order, tools),
  }
}
export const refusals = async (stats: ReturnType<typeof openStats>) =>
  (await stats.registry.getSingleMetricAsString('decorum_fetcher_refused_total'))
    .split('\n')
    .filter((line) => !line.startsWith('#'))
export const unavailable = () => Promise.reject(new LedgerUnavailableError('complete', new Error('gone')))

/** A look-up that takes so long by both clocks of this process, which stand still otherwise. */
export function slowLookUp(ms: number): { lookup: Lookup; undo(): void } {
  const clocks = [Date, performance].map((clock) => {
    const from = clock.now()
    return { clock: vi.spyOn(clock, 'now').mockReturnValue(from), from }
  })
  return {
    async lookup() {
      for (const { clock, from } of clocks) clock.mockReturnValue(from + ms)
      return [{ address: '127.0.0.1', family: 4 }]
    },
    undo() {
      for (const { clock } of clocks) clock.mockRestore()
    },
  }
}
