/**
 * The emergency stops in one process. Every partition holds the whole record, and every reply of a script has its version: so a stop needs
 * no master and no polling (docs/decisions/0028-one-replicated-record.md).
 */
import { type Clock, hostOf } from '@decorum/protocol'
import { type Keeper, keeperOf } from '../record/keeper.ts'
import { change, type Place } from '../record/place.ts'
import { nameOfAddress, namesAbove } from './names.ts'
import { EVERYTHING, isInForce, NO_STOPS, type StopRecord } from './record.ts'

export type StopKeeper = Pick<Keeper<StopRecord>, 'known' | 'report' | 'latest' | 'settled'> & {
  /** why nothing may be sent to an origin or to an address; undefined: neither is stopped. Makes no call to Redis */
  why(origin: string, address: string | undefined): string | undefined
  /** whether any stop names an address: then hosts must be resolved before requests are made */
  hasAddresses(): boolean
  /**
   * Writes the next record into every partition that answers.
   * @param edit  throws when the change is not possible: then nothing is changed
   * @returns     how many partitions did not answer: each gets the record when it does
   */
  change(edit: (record: StopRecord, now: number) => StopRecord): Promise<{ record: StopRecord; unreached: number }>
}

/** @param now  Redis's clock, ms */
export function stopKeeper(clock: Clock, places: Place<StopRecord>[], now: () => number): StopKeeper {
  const names = new Map<string, number>() // name → end
  let addresses = false
  const keeper = keeperOf(places, NO_STOPS, ({ stops }) => {
    names.clear()
    for (const { name, until = Number.POSITIVE_INFINITY } of stops.filter((stop) => isInForce(stop, 0)))
      names.set(name, Math.max(names.get(name) ?? 0, until))
    addresses = [...names.keys()].some((name) => /^\[|^[\d.]+$/.test(name))
  })
  const isStopped = (name: string): boolean => (names.get(name) ?? 0) > now()
  const overtaken = (): Error => new Error('other operators change the stops at the same time: try again')
  return {
    get known() {
      return keeper.known
    },
    report: keeper.report,
    latest: keeper.latest,
    settled: keeper.settled,
    why(origin, address) {
      if (keeper.isBehind) return 'an emergency stop was set or lifted, and is being read'
      if (names.size === 0) return undefined
      if (isStopped(EVERYTHING)) return 'everything is stopped'
      const name =
        namesAbove(hostOf(origin)).find(isStopped) ??
        (address === undefined ? undefined : [nameOfAddress(address)].find(isStopped))
      return name === undefined ? undefined : `${name} is stopped`
    },
    hasAddresses: () => addresses,
    async change(edit) {
      const written = await change(
        clock,
        places,
        () => keeper.known,
        (record) => edit(record, now()),
        overtaken,
      )
      keeper.adopt(written.record)
      return written
    },
  }
}
