/** The verbs that the model plays: those of the ledger, and those by which operators look and act. */
import {
  defineScripts,
  defineVerbs,
  type Scripts,
  scriptText,
  VERBS,
  type Verb,
  type verbSettings,
  verbsOf,
} from '@decorum/ledger/testing'
import { VIEW_LUA, VIEW_VERBS, type ViewVerb, viewsOf, viewText } from '@decorum/ledger/views/testing'
import type { Redis } from 'ioredis'

const isView = (verb: string): verb is ViewVerb => (VIEW_VERBS as readonly string[]).includes(verb)

export const ALL_VERBS: readonly (Verb | ViewVerb)[] = [...VERBS, ...VIEW_VERBS]
/** A part of any of their scripts. */
export const readAnyPart = VIEW_LUA.read
export const textOf = (verb: Verb | ViewVerb, read?: (file: string) => string): string =>
  isView(verb) ? viewText(verb, read) : scriptText(verb, read)

export function defineAll(redis: Redis, text: (verb: Verb | ViewVerb) => string = textOf): void {
  defineVerbs(redis, text)
  defineScripts(redis, VIEW_VERBS, text)
}

export const allVerbsOf = (scripts: Scripts, settings: ReturnType<typeof verbSettings>) => ({
  ...verbsOf(scripts, settings),
  ...viewsOf(scripts),
})
export type AllVerbs = ReturnType<typeof allVerbsOf>
