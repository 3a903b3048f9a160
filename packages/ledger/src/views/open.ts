/** A ledger with the calls for operators. */
import type { Ledger, LedgerOptions } from '../index.ts'
import { defineScripts, EVERY_CALL, finished, openLedgerWith, whenFull } from '../stored.ts'
import { ARGS, VIEW_LUA, VIEW_VERBS, type ViewVerb } from './calls.ts'
import { operatorCalls } from './operator-calls.ts'

export type LedgerWithViews = Ledger & ReturnType<typeof operatorCalls>

/** The script of a verb. It also runs in a full Redis, so that operators can view and pause. @param read  tests only: replaces a part */
export const viewText = (verb: ViewVerb, read?: (file: string) => string): string =>
  whenFull(finished(VIEW_LUA.text(`verbs/${verb}`, [...EVERY_CALL, ...ARGS[verb]], read), read))

/** @throws as openLedger */
export const openLedgerWithViews = (options: LedgerOptions): Promise<LedgerWithViews> =>
  openLedgerWith(options, (partitions, notes) => {
    defineScripts(partitions.redis, VIEW_VERBS, viewText)
    return operatorCalls(partitions, notes)
  })
