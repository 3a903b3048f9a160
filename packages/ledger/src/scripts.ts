/** The scripts in lua/, one verb each: loaded once, called with a deadline, each answer's clock and epoch taken note of. */
import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { LedgerUnavailableError } from './errors.ts'
import type { Keys } from './keys.ts'
import { redisClock } from './redis-clock.ts'

const VERBS = ['park', 'take', 'begin', 'enter', 'settle', 'learn', 'reap', 'view', 'operate', 'fleet'] as const
export type Verb = (typeof VERBS)[number]
export type Arg = string | number | Buffer

const lua = (name: string): string => readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')

/** Runs verbs in one partition. */
export type Scripts = {
  call(verb: Verb, ...args: Arg[]): Promise<string[]>
  /** Redis's clock as far as we know it, ms: never ahead of it, behind by no more than a round trip */
  now(): number
}

export type ScriptSettings = {
  holdMs: number
  callDeadlineMs: number
  /** tests only: virtual time */
  nowMs?: (() => number) | undefined
}

type Command = (key: string, ...args: Arg[]) => Promise<string[]>

/** Teaches a connection the verbs. */
export function defineVerbs(redis: Redis): void {
  const common = lua('common')
  for (const verb of VERBS) redis.defineCommand(`decorum_${verb}`, { numberOfKeys: 1, lua: `${common}\n${lua(verb)}` })
}

export function scriptsOf(redis: Redis, keys: Keys, settings: ScriptSettings): Scripts {
  const commands = redis as unknown as Record<string, Command>
  let known = '' //      epoch id: '' until the ledger has told us one
  const clock = redisClock()
  const call = async (verb: Verb, ...args: Arg[]): Promise<string[]> => {
    const virtual = settings.nowMs?.()
    const command = commands[`decorum_${verb}`]
    if (command === undefined) throw new LedgerUnavailableError(verb, 'its script is not loaded')
    const answer = await withDeadline(
      command.call(redis, keys.epoch, virtual === undefined ? '' : virtual.toFixed(3), settings.holdMs, known, ...args),
      settings.callDeadlineMs,
      verb,
    )
    known = answer[0] as string
    clock.seen(Number(answer[1]))
    return answer
  }
  return { call, now: () => settings.nowMs?.() ?? clock.now() }
}

/** Redis answers in time or not at all, as far as the caller is concerned. */
export async function withDeadline<T>(work: Promise<T>, deadlineMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${deadlineMs} ms`)), deadlineMs)
  })
  try {
    return await Promise.race([work, late])
  } catch (error) {
    throw new LedgerUnavailableError(what, error)
  } finally {
    clearTimeout(timer)
  }
}
