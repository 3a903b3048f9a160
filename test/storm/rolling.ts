/**
 * Rolling restarts under load: a fleet of two versions whose processes are ended by SIGTERM, one after another, and started again with
 * the code of the other version. Sites record, and the storm's verdict is given on a list of faults that is empty, but for what did not end in its
 * time: nothing may come again, be lost or be early.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { now as clock } from '@decorum/cli/synthetic-web'
import { FLEET_SETTINGS } from '@decorum/config'
import { recordedWeb } from '../support/origins/index.ts'
import { type Book, openBook } from './book.ts'
import { diceOf } from './dice.ts'
import { type HolderFacts, holdPermits } from './holders.ts'
import { environment, type Times } from './manners.ts'
import { OF_ONE_SITE, placeOf, pour, rejects } from './pour.ts'
import { startRedisUnderFire } from './redis-fire.ts'
import { watchStalls } from './stalls.ts'
import { calm, storedIds, untilRead } from './stored.ts'
import { stormSites } from './storm-sites.ts'
import { judgeStorm, type StormFacts, type Verdict } from './verdict.ts'
import { countTroubles, Worker } from './worker.ts'

export type RollingOptions = {
  seed: number
  restarts: number
  /** folders of the two versions (trees.ts) */
  trees: readonly [string, string]
  times: Times
  processes: Partial<Record<Worker['role'], number>>
  sites: number
  /** candidates a second, beside those that are posted to the console */
  rate: number
  /** between the start of one process and the end of the next, ms */
  pauseMs: number
  /** longest time in which all ends afterwards, ms */
  calmMs: number
  say?: (line: string) => void
}

/** `at`: when it had ended */
export type Restart = { name: string; role: Worker['role']; at: number; drainMs: number; how: string; startMs: number }

export type RollingResult = {
  facts: StormFacts
  verdict: Verdict
  holders: HolderFacts
  restarts: Restart[]
  /** promises broken, in words: those of the verdict, and a process that ended soon with another exit code than 0 */
  broken: string[]
  /** answers of the consoles, by status; 0: none, as while it starts again */
  answers: Map<number, number>
  troubles: Map<string, number>
  ms: number
}

/** What a fleet promises to need at most for its end: its longest exchange, and 5 s to write down what came of it. */
export const drainWithin = ({ deadlineMs }: Times): number => deadlineMs + 5_000
/** What has not ended after this ends all the same, with another exit code: a figure of time, as GRACE_MS is. */
const ENDS_ITSELF_MS = 10_000
/** After this it is killed. */
const GRACE_MS = 60_000
const PARTITIONS = 2
const SLOTS = 20
const POST_MS = 500

export async function roll(options: RollingOptions): Promise<RollingResult> {
  const { seed, times, trees, say = () => undefined } = options
  const began = clock()
  const folder = await mkdtemp(join(tmpdir(), 'decorum-rolling-'))
  const data = join(folder, 'redis')
  await mkdir(data)
  const redis = await startRedisUnderFire(data)
  const stalls = watchStalls(folder, redis.url)
  const places = stormSites(options.sites, times)
  const web = await recordedWeb(places.sites)
  const { troubles, onTrouble } = countTroubles()
  const workers = mobilise(options, redis.url, onTrouble)
  let book: Book | undefined
  try {
    await Promise.all(workers.map(({ worker }) => worker.startUntilReady()))
    // Whoever starts again takes from the fleet's configuration what all agree on.
    for (const { env } of workers) for (const name of FLEET_SETTINGS) delete env[name]
    book = await openBook(redis.url)
    const frontier = book
    const end = new AbortController()
    const { signal } = end
    const from = clock()
    const urlOf = (n: number): string => places.url(web.origins, ...placeOf(n, places.sites.length))
    const portsOf = (role: Worker['role']): string[] =>
      workers.flatMap(({ worker }) =>
        worker.role === role && worker.state === 'running' ? [`http://127.0.0.1:${worker.port}`] : [],
      )
    const pouring = pour(frontier, options.rate, urlOf, signal)
    const posting = postToConsole(
      frontier,
      portsOf,
      (n) => `${new URL(urlOf(n * OF_ONE_SITE)).origin}/posted/${n}`,
      signal,
    )
    const holding = holdPermits({
      bases: () => portsOf('permits'),
      urlOf: (n) => `${new URL(urlOf(n * OF_ONE_SITE)).origin}/permit/${n}`,
      lineUrl: (n) => `${new URL(places.url(web.origins, 0, 0)).origin}/line/${n}`,
      times,
      dice: diceOf(seed + 1),
      signal,
    })
    const versions = (): string =>
      trees.map((tree) => workers.filter(({ worker }) => worker.tree === tree).length).join(' + ')
    say(`${workers.length} processes (${versions()} of the two versions), ${places.sites.length} sites, seed ${seed}`)
    await sleep(options.pauseMs)
    const restarts: Restart[] = []
    for (let n = 0; n < options.restarts; n++) {
      const { worker } = workers[n % workers.length] as (typeof workers)[number]
      const other = worker.tree === trees[0] ? trees[1] : trees[0]
      const at = clock()
      const { drainMs, how } = await Promise.race([worker.replace(other, GRACE_MS), rejects(pouring)])
      restarts.push({
        name: worker.name,
        role: worker.role,
        at: at + drainMs,
        drainMs,
        how,
        startMs: clock() - at - drainMs,
      })
      say(
        `${worker.name} ended after ${Math.round(drainMs)} ms (${how}); ${versions()}; ${frontier.outcomes.size} outcomes`,
      )
      await sleep(options.pauseMs)
    }
    end.abort()
    await pouring
    const answers = await posting
    await holding.ended
    await calm(frontier, redis.url, PARTITIONS, options.calmMs)
    await Promise.all(workers.map(({ worker }) => worker.runs()))
    for (const { worker } of workers) worker.end()
    await Promise.all(workers.map(({ worker }) => worker.gone()))
    const stored = await storedIds(redis.url, PARTITIONS)
    await untilRead(redis.url, PARTITIONS, options.calmMs)
    const evidence = await web.evidence()
    await frontier.close()
    const { accepted, outcomes, unsure, redelivered } = frontier
    const facts: StormFacts = {
      times,
      slots: SLOTS,
      evidence,
      // On a machine that was too busy for it to finish, a process has ended without writing down what came of its last exchanges.
      faults: { kills: restarts.filter(endedUndone), freezes: [], outages: [], hurts: [], configs: [] },
      stalls: stalls.end(from),
      starts: workers.flatMap(({ worker }) => worker.starts),
      book: { accepted, outcomes, unsure, redelivered },
      stored,
      breaksOff: places.breaksOff(web.origins),
    }
    const verdict = judgeStorm(facts)
    const broken = [
      ...verdict.broken,
      ...restarts
        .filter((one) => one.how !== 'exit code 0' && !endedUndone(one))
        .map(({ name, how }) => `${name} ended by ${how}`),
    ]
    return { facts, verdict, holders: holding.facts, restarts, broken, answers, troubles, ms: clock() - began }
  } finally {
    await book?.close()
    for (const { worker } of workers) worker.end()
    await redis.stop()
    await web.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const endedUndone = ({ how, drainMs }: Restart): boolean => how !== 'exit code 0' && drainMs >= ENDS_ITSELF_MS

/** Every second process is of the second version: so the versions are mixed at any time, also when each has been replaced once. */
function mobilise(
  { processes, times, trees }: RollingOptions,
  redisUrl: string,
  onTrouble: (name: string, text: string) => void,
): { worker: Worker; env: NodeJS.ProcessEnv }[] {
  const roles = Object.entries(processes) as [Worker['role'], number][]
  const most = Math.max(...roles.map(([, count]) => count))
  // One of each role, then the next of each: no role is replaced twice in a row.
  const names = Array.from({ length: most }, (_, n) => n + 1).flatMap((n) =>
    roles.filter(([, count]) => n <= count).map(([role]) => ({ role, name: `${role}-${n}` })),
  )
  return names.map(({ role, name }, at) => {
    const env = environment(redisUrl, times, {
      DECORUM_PARTITIONS: String(PARTITIONS),
      FETCH_CONCURRENCY: String(SLOTS),
      PORT: '0',
    })
    return { worker: new Worker({ role, name, env, onTrouble, tree: trees[at % 2] as string }), env }
  })
}

/** A frontier that works over HTTP: a list that was not answered is sent again under the same ids. */
async function postToConsole(
  { accepted, unsure }: Book,
  portsOf: (role: Worker['role']) => string[],
  urlOf: (n: number) => string,
  signal: AbortSignal,
): Promise<Map<number, number>> {
  const answers = new Map<number, number>()
  for (let n = 0; !signal.aborted;) {
    const id = `posted-${n}`
    unsure.add(id)
    const from = clock()
    const status = await post(portsOf('console')[0], { id, url: urlOf(n) })
    answers.set(status, (answers.get(status) ?? 0) + 1)
    if (status === 202) {
      unsure.delete(id)
      accepted.set(id, { from, at: clock() })
      n++
    }
    await sleep(POST_MS, undefined, { signal }).catch(() => undefined)
  }
  return answers
}

async function post(base: string | undefined, candidate: object): Promise<number> {
  if (base === undefined) return 0
  try {
    const answer = await fetch(`${base}/v1/candidates`, {
      method: 'POST',
      body: JSON.stringify(candidate),
      headers: { 'content-type': 'application/json' },
    })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return 0
  }
}
