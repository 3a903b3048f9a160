/** `decorum conform -- COMMAND`: tries a worker of a pool in every situation, and judges it by what the sites recorded. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import { agentsOf, judgeRecord, readLogs } from '@decorum/audit'
import { printable } from '@decorum/protocol'
import type { Site } from '@decorum/synthetic-web'
import { DONE, FAILED, UsageError } from '../exit.ts'
import { tellJson, tellStyled } from '../terminal.ts'
import { complaintsOf, type Evidence } from './judge.ts'
import { CONFORM } from './settings.ts'
import { SITUATIONS, type Situation } from './situations.ts'
import { openWorld, type World } from './world.ts'

export type ConformOptions = {
  /** names of situations; absent: all */
  only?: string[]
  json?: boolean
}
export type Verdict = { name: string; means: string; complaints: string[] }

/** The longest wait for the next outcome: MAX_ATTEMPTS dead leases, one after the other, and a busy machine. */
const PATIENCE_MS = 60_000

/** @returns 0 when the worker did well in all of them. @throws UsageError · CommandError and the errors of Redis and fleet */
export async function conform(command: string[], { only, json }: ConformOptions): Promise<typeof DONE | typeof FAILED> {
  if (command.length === 0) throw new UsageError('conform: the command of a worker is needed, behind --')
  const unknown = only?.find((name) => SITUATIONS.every((one) => one.name !== name))
  if (unknown !== undefined)
    throw new UsageError(`conform: --only ${unknown}: there are ${SITUATIONS.map(({ name }) => name).join(', ')}`)
  const chosen = SITUATIONS.filter(({ name }) => only?.includes(name) ?? true)
  const verdicts = await tryAll(chosen, command, (verdict) => {
    if (!json) tellStyled(lineOf(verdict))
  })
  const failed = verdicts.filter(({ complaints }) => complaints.length > 0).length
  if (json) tellJson({ conforms: failed === 0, situations: verdicts }, 2)
  else
    tellStyled(failed === 0 ? `all ${verdicts.length} situations passed\n` : `${failed} of ${verdicts.length} failed\n`)
  return failed === 0 ? DONE : FAILED
}

const lineOf = ({ name, means, complaints }: Verdict): string =>
  complaints.length === 0
    ? `${styleText('green', '✓')} ${name}: ${means}\n`
    : `${styleText('red', '✗')} ${name}: ${means}\n${complaints.map((one) => `    ${printable(one)}\n`).join('')}`

async function tryAll(chosen: Situation[], command: string[], told: (verdict: Verdict) => void): Promise<Verdict[]> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-conform-'))
  const record = join(folder, 'visits.ndjson')
  try {
    const world = await openWorld(chosen.flatMap(sitesOf), record, command)
    const acted = new Map<Situation, string[]>()
    try {
      const quiet = chosen.filter(({ act }) => act === undefined)
      await Promise.all(quiet.map((one) => enqueue(one, world)))
      await ended(quiet, world)
      for (const one of chosen)
        if (one.act !== undefined) {
          await enqueue(one, world)
          const complaints = await within(one.act(world), `it did not come to ${one.name}`)
          acted.set(
            one,
            complaints.flatMap((text) => (typeof text === 'string' ? [text] : [])),
          )
          if (one.name !== 'terminated') await ended([one], world)
        }
    } finally {
      await world.close()
    }
    const { requests, bodies } = await readLogs([record])
    const { agent, delayMs: minDelayMs, capMs: maxDelayMs, robotsRetryMs } = CONFORM
    const agents = agentsOf({ agent: agent.name, profile: 'decorum', minDelayMs, maxDelayMs })
    const { examples } = judgeRecord({ requests, bodies }, { agents, robotsRetryMs })
    const { outcomes, web, headers, worker } = world
    const evidence: Evidence = { requests, violations: examples, outcomes, origins: web.origins, heard: headers.heard }
    return chosen.map((one) => {
      const complaints = [...complaintsOf(one, evidence), ...(acted.get(one) ?? [])]
      if (complaints.length > 0 && !worker.isRunning) complaints.push(...worker.lastWords.slice(-2))
      const verdict = { name: one.name, means: one.means, complaints }
      told(verdict)
      return verdict
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const sitesOf = ({ name, sites = {} }: Situation): Site[] =>
  Object.entries(sites).map(([own, site]) => ({ ...site, name: `${name}-${own}` }))

async function enqueue(situation: Situation, { frontier, web, headers }: World): Promise<void> {
  const { name, sites = {} } = situation
  const origins = Object.fromEntries(Object.keys(sites).map((own) => [own, web.origins[`${name}-${own}`] as string]))
  const urls = Object.entries(situation.urls({ ...origins, headers: headers.origin }))
  await frontier.enqueue(
    urls.map(([id, url]) => ({ id: `${name}.${id}`, ...(typeof url === 'string' ? { url } : url) })),
  )
}

/** Resolves when each of their URLs has an outcome, or when none will come any more. A slow worker has as long as it needs. */
async function ended(situations: Situation[], { outcomes, worker }: World): Promise<void> {
  let open = situations.flatMap(({ name, urls }) => Object.keys(urls({})).map((id) => `${name}.${id}`))
  let until = performance.now() + PATIENCE_MS
  for (; performance.now() < until && worker.isRunning; await sleep(50)) {
    const left = open.filter((id) => !outcomes.has(id))
    if (left.length === 0) return
    if (left.length < open.length) until = performance.now() + PATIENCE_MS
    open = left
  }
}

async function within(work: Promise<(string | false | undefined)[]>, why: string) {
  return Promise.race([work, sleep(PATIENCE_MS, [why], { ref: false })])
}
