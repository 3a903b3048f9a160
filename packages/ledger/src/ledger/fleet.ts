/** The calls that write to every partition and read from all: running processes, stops, delays and policies, and where pages are kept. */
import { MINUTE } from '@decorum/protocol'
import { ANNOUNCED, contentKey, EPOCH } from '../layout.ts'
import { memoryOf, type RedisMemory } from '../memory.ts'
import { type Lifting, type Stopping, type StopRecord, withoutStops, withStops } from '../stops/record.ts'
import { thatAnswer } from '../that-answer.ts'
import { type Member, type Roll, readMembers } from '../verbs/fleet.ts'
import type { Rates } from '../verbs/rates.ts'
import type { Partitions } from './partitions.ts'

const MEMBER_LIFE_MS = 5_000

export function fleetCalls({ deadline, redis, tags, all, active, of, timed, stops, rates, checkTags }: Partitions) {
  const inFlight = tags.map(() => 0)
  // Every process calls every partition. So a partition that lost its data gets the epoch that running processes remember, and when one
  // master is unreachable, the other partitions still list the running processes.
  const rolls = (announced?: { member: Member; lifeMs: number }): Promise<Roll[]> =>
    thatAnswer(
      active.map(async ({ verbs: { fleet } }, at) => {
        const roll = await fleet(announced).catch((error: unknown) => {
          inFlight[at] = 0
          throw error
        })
        inFlight[at] = roll.leases
        return roll
      }),
    )
  return {
    /** Announces that this process runs, and returns all running processes. To be called once a second; `lifeMs` 0: this process ends. */
    async announce(member: Member, lifeMs = MEMBER_LIFE_MS): Promise<Member[]> {
      const [all] = await Promise.all([rolls({ member, lifeMs }), checkTags().catch(() => undefined)])
      return membersOf(all)
    },
    /** How full Redis is. */
    memory: (): Promise<RedisMemory> => memoryOf(redis, deadline),
    members: async (): Promise<Member[]> => membersOf(await rolls()),
    /** Leases in each partition, as of the latest `announce` or `members`; 0 for a partition that does not answer. */
    inFlight: (): readonly number[] => inFlight,
    /** Announces that every lease has ended and Redis is about to be stopped: after its restart, nothing waits for earlier leases. */
    async announceRestart(): Promise<void> {
      for (const { keys } of all)
        await timed(redis.hset(keys.epoch, EPOCH.restartAnnounced, ANNOUNCED.plain), 'announceRestart')
    },
    /**
     * Sets least delays and site policies of one version of the fleet's configuration: no lane has a shorter delay, whichever process
     * calls. Lanes that an earlier version held are judged again. An older version changes nothing. Resolves when every partition that
     * answers has them; the others get them when they answer again.
     */
    async setRates(record: Rates): Promise<void> {
      rates.adopt(record)
      await rates.settled()
    },
    /**
     * Sets emergency stops: from the answer on, no process starts a request that they cover. Requests in flight continue.
     * @returns  the stops, and how many partitions did not answer: nothing can start there, and each gets the stops as soon as it answers
     * @throws   StopError when the change is not possible: nothing was changed
     */
    stop: (stopping: Stopping): Promise<{ record: StopRecord; unreached: number }> =>
      stops.change((record, at) => withStops(record, stopping, at)),
    lift: (lifting: Lifting): Promise<{ record: StopRecord; unreached: number }> =>
      stops.change((record, at) => withoutStops(record, lifting, at)),
    /** Takes a sample of the partition's state for operators, unless one was taken within the last half minute. */
    sample: (partition: number) => of(partition).verbs.sample(),
    /** Announces, for the next minute, that this process serves the pages that it keeps at `base`. */
    async announceContent(base: string): Promise<void> {
      await timed(redis.set(contentKey(base), '1', 'PX', MINUTE), 'announceContent')
    },
    /**
     * Whether a process has announced this address. Pages are requested from no other address, and the fleet's token is sent to no other.
     */
    keepsContent: async (base: string): Promise<boolean> =>
      (await timed(redis.exists(contentKey(base)), 'keepsContent')) === 1,
  }
}

/** The members of all partitions, without duplicates. */
function membersOf(rolls: Roll[]): Member[] {
  return readMembers(new Set(rolls.flatMap(({ members }) => members)))
}
