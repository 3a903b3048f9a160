/**
 * The scripts of a change: each is one bounded step in one partition that can be repeated. Their files describe arguments and guarantees.
 */
import { type Arg, LEDGER_LUA, libraryOf, type Script } from '../stored.ts'

const LUA = libraryOf({ folder: new URL('./lua/', import.meta.url), base: LEDGER_LUA })

/** A step that writes: it begins with lib/guard, whose argument is the number of the change. */
const step = <const Name extends string>(file: string, ...args: Name[]): Step<Name> =>
  LUA.script(file, ['change', ...args])

export const changeScripts = {
  take: LUA.script('take-lock', ['lifeMs']),
  renew: LUA.script('renew-lock', ['change', 'lifeMs']),
  release: LUA.script('release-lock', ['change']),
  takePartition: step('take-partition', 'gate'),
  write: step('write'),
  writeTags: step('write-tags', 'count'),
  serverTime: LUA.script('server-time', []),
}

export const upgradeScripts = {
  begin: step('upgrade/begin'),
  putLeases: step('upgrade/put-leases', 'cursor', 'count'),
  holdLanes: step('upgrade/hold-lanes', 'cursor', 'count'),
  switch: step('upgrade/switch'),
  stepBack: step('upgrade/step-back'),
}

export type Step<Name extends string> = Script<'change' | Name>
export type Args<Name extends string> = Record<Name, Arg>
