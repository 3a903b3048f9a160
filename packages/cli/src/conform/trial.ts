/** Runs a worker through all situations and collects its faults. */
import { setTimeout as sleep } from 'node:timers/promises'
import { agentsOf, judgeRecord, readRecord } from '@decorum/audit'
import { aborted } from '@decorum/protocol'
import type { Site } from '../synthetic-web/index.ts'
import { complaintsOf, type Evidence } from './judge.ts'
import { withOwner } from './own-failure.ts'
import { AGENT, CONFORM } from './settings.ts'
import type { Situation } from './situation.ts'
import type { Worker } from './worker.ts'
import { NotBegunError, openWorld, PATIENCE_MS, type World } from './world.ts'

export type Verdict = { name: string; means: string; complaints: string[] }

/** Faults in each situation with `act`; situations that were not reached are absent. */
type Acted = Map<Situation, string[]>

/**
 * Everything it started has ended when it resolves or rejects.
 * @param record  file that the sites write
 * @throws the reason of `interrupted`, CommandError, and the errors of Redis and fleet
 */
export async function tryAll(
  chosen: Situation[],
  command: string[],
  record: string,
  interrupted: AbortSignal,
): Promise<Verdict[]> {
  const world = await openWorld(chosen.flatMap(sitesOf), record, command, interrupted).catch(async (error: unknown) => {
    throw await withOwner(error)
  })
  const acted: Acted = new Map()
  try {
    await unless(world.over, carryOut(chosen, world, acted))
  } catch (error) {
    const why = await withOwner(error, world.over)
    await world.close().catch(() => undefined) // the original error matters more
    throw why
  }
  await world.close()
  interrupted.throwIfAborted()
  const { requests, bodies } = await readRecord(record)
  const { DEFAULT_DELAY_MS: minDelayMs, MAX_DELAY_MS: maxDelayMs, ROBOTS_RETRY_MS: robotsRetryMs } = CONFORM
  const agents = agentsOf({ agent: AGENT.name, profile: 'decorum', minDelayMs, maxDelayMs })
  const { examples } = judgeRecord({ requests, bodies }, { agents, robotsRetryMs })
  const { outcomes, web, headers, worker } = world
  const evidence: Evidence = {
    requests,
    violations: examples,
    outcomes,
    origins: web.origins,
    received: headers.received,
  }
  return chosen.map((one) => {
    const complaints = complaintsOf(one, evidence)
    if (one.act !== undefined) complaints.push(...(acted.get(one) ?? ['it was not tried']))
    if (complaints.length > 0) complaints.push(...lastOf(worker))
    return { name: one.name, means: one.means, complaints }
  })
}

/** Runs situations without `act` in parallel, then the others; ends early when the worker has ended. */
async function carryOut(chosen: Situation[], world: World, acted: Acted): Promise<void> {
  const quiet = chosen.filter(({ act }) => act === undefined)
  await Promise.all(quiet.map((one) => enqueue(one, world)))
  await ended(quiet, world)
  for (const one of chosen) {
    if (one.act === undefined) continue
    if (world.worker.gone.aborted || world.over.aborted) return
    await enqueue(one, world)
    acted.set(one, await act(one, world))
    if (one.name !== 'terminated') await ended([one], world)
  }
}

async function act({ name, act }: Situation, world: World): Promise<string[]> {
  const work = act?.(world) ?? Promise.resolve([])
  try {
    const complaints = await unless(world.worker.gone, work)
    return complaints.flatMap((text) => (typeof text === 'string' ? [text] : []))
  } catch (error) {
    if (world.worker.gone.aborted) return [] // no further fault: the missing outcome and the end of the worker are reported
    if (error instanceof NotBegunError) return [`it did not come to ${name}`]
    throw error
  }
}

/** @throws the reason of the signal, as soon as it aborts */
function unless<T>(over: AbortSignal, work: Promise<T>): Promise<T> {
  const ended = aborted(over).then(() => {
    throw over.reason
  })
  return Promise.race([work, ended])
}

function lastOf({ gone, lastWords }: Worker): string[] {
  const words = lastWords.slice(-2).join(' | ')
  if (gone.aborted) return [`the worker ended (${gone.reason})${words === '' ? '' : `: ${words}`}`]
  return words === '' ? [] : [`the worker's last output: ${words}`]
}

const sitesOf = ({ name, sites = {} }: Situation): Site[] =>
  Object.entries(sites).map(([own, site]) => ({ robots: { body: '' }, ...site, name: `${name}-${own}` }))

async function enqueue(situation: Situation, { frontier, web, headers }: World): Promise<void> {
  const { name, sites = {} } = situation
  const origins = Object.fromEntries(Object.keys(sites).map((own) => [own, web.origins[`${name}-${own}`] as string]))
  const urls = Object.entries(situation.urls({ ...origins, headers: headers.origin }))
  await frontier.enqueue(
    urls.map(([id, url]) => ({ id: `${name}.${id}`, ...(typeof url === 'string' ? { url } : url) })),
  )
}

/** Resolves when every URL has an outcome, when no outcome has come for PATIENCE_MS, or when the worker or the trial has ended. */
async function ended(situations: Situation[], { outcomes, worker, over }: World): Promise<void> {
  let open = situations.flatMap(({ name, urls }) => Object.keys(urls({})).map((id) => `${name}.${id}`))
  let until = performance.now() + PATIENCE_MS
  for (; performance.now() < until && worker.isRunning && !over.aborted; await sleep(50)) {
    const left = open.filter((id) => !outcomes.has(id))
    if (left.length === 0) return
    if (left.length < open.length) until = performance.now() + PATIENCE_MS
    open = left
  }
}
