/** A call of a script of the ledger, as judges read it: its arguments by name, the items behind them, and what the reply says. */
import { ARGS, EVERY_CALL, type Verb } from '@decorum/ledger/testing'

/** In front of the arguments of each call. */
const KEYS = 2
const PREFIX = 'decorum_'

export type Call = {
  /** it may also be a verb of the views, whose arguments have no names here */
  verb: string
  /** of its partition */
  tag: string
  /** which run of Redis and the ledger's time, as each reply has them in front */
  epoch: string
  now: number
  said: readonly string[]
  items: readonly string[]
  arg(name: string): string
}

export const isScript = (name: string): boolean => name.startsWith(PREFIX)

/** @returns undefined: the reply is none of the ledger */
export function readCall(name: string, args: readonly unknown[], reply: unknown): Call | undefined {
  if (!Array.isArray(reply)) return undefined
  const verb = name.slice(PREFIX.length)
  const names: readonly string[] = [...EVERY_CALL, ...(ARGS[verb as Verb] ?? [])]
  return {
    verb,
    tag: String(args[0]),
    epoch: String(reply[0]),
    now: Number(reply[1]),
    said: reply.slice(2).map(String),
    items: args.slice(KEYS + names.length).map(String),
    arg: (of) => String(args[KEYS + names.indexOf(of)]),
  }
}
