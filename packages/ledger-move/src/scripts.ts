/** The scripts of a change: each is one step in one partition, bounded, and can be made again. Their files say what they get and keep. */
import { type Arg, LEDGER_LUA, libraryOf, type Script } from '@decorum/ledger/stored'

export const LUA = libraryOf({ folder: new URL('./lua/', import.meta.url), base: LEDGER_LUA })

/** A step that writes: it begins with lib/guard, whose argument is the number of the change. */
const step = <const Name extends string>(file: string, ...args: Name[]): Script<'change' | Name> =>
  LUA.script(file, ['change', ...args])

export const lockScripts = {
  take: LUA.script('take-lock', ['lifeMs']),
  renew: LUA.script('renew-lock', ['change', 'lifeMs']),
  release: LUA.script('release-lock', ['change']),
  takePartition: step('take-partition', 'gate'),
  writeTags: step('write-tags', 'count'),
  serverTime: LUA.script('server-time', []),
}

export const moveScripts = {
  putLane: step('put-lane', 'lane', 'from', 'urls', 'due', 'record'),
  dropLane: step('drop-lane', 'lane', 'urls'),
  putIds: step('put-ids', 'how'),
  putKey: step('put-key', 'key', 'lifeMs', 'dump'),
  putBody: step('put-body', 'hash', 'bytes', 'domain', 'lifeMs', 'dump'),
  dropKey: step('drop-key', 'key'),
  putEntries: step('put-entries', 'name', 'kind', 'lifeMs'),
  dropEntries: step('drop-entries', 'name', 'kind'),
  putHash: step('put-hash', 'name', 'isFirst'),
  putSums: step('put-sums', 'name', 'from', 'day', 'today'),
  putEpoch: step('put-epoch'),
  raiseJobs: step('raise-jobs', 'number'),
  dropOutboxEntry: step('drop-outbox-entry', 'id'),
}

export const upgradeScripts = {
  begin: step('upgrade/begin', 'to'),
  copyOrigins: step('upgrade/copy-origins', 'count'),
  dropFields: step('upgrade/drop-fields', 'count'),
  putLeases: step('upgrade/put-leases', 'next'),
  holdLanes: step('upgrade/hold-lanes'),
  renameGate: step('upgrade/rename-gate', 'before', 'after'),
  switch: step('upgrade/switch', 'to', 'next', 'keys'),
  stepBack: step('upgrade/step-back', 'to', 'next'),
  forgetLeftovers: step('upgrade/forget-leftovers'),
  dropWhileClosed: step('upgrade/drop-while-closed', 'to'),
}

export type Step<Name extends string> = Script<'change' | Name>
export type Args<Name extends string> = Record<Name, Arg>
