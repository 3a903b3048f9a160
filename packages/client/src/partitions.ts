/** The partitions as last read: their number may be registered later, and may be changed. */
import { checkOneServer, LedgerUnfitError, PARTITIONS_KEY, type RedisLink, readTags } from '@decorum/ledger'
import { outcomesKey, partitionTags } from '@decorum/protocol'
import type { Clock } from '@decorum/protocol/time'
import { answered, FrontierUnfitError } from './errors.ts'

const UNREADABLE = `${PARTITIONS_KEY} could not be read`
/** How long a reading counts as recent, ms. */
export const REREAD_MS = 2_000

export class Partitions {
  /** the clock of the frontier */
  readonly clock: Clock
  readonly #redis: RedisLink
  #tags: readonly string[] = partitionTags(1)
  #retired: readonly string[] = []
  #readAt = Number.NEGATIVE_INFINITY

  private constructor(redis: RedisLink, clock: Clock) {
    this.#redis = redis
    this.clock = clock
  }

  /**
   * @param wanted  must equal the registered number, if there is one
   * @throws FrontierUnavailableError · FrontierUnfitError
   */
  static async read(redis: RedisLink, wanted: number | undefined, clock: Clock): Promise<Partitions> {
    const partitions = new Partitions(redis, clock)
    await answered(clock, UNREADABLE, checkOneServer(redis)).catch((error: Error) => {
      throw error.cause instanceof LedgerUnfitError ? new FrontierUnfitError(error.cause.message) : error
    })
    const count = await partitions.refresh()
    if (wanted !== undefined && count !== 0 && wanted !== count)
      throw new FrontierUnfitError(`the fleet on this Redis has ${count} partitions, not ${wanted}`)
    return partitions
  }

  /**
   * The partitions in order. Before a number is registered, only the first one, which every fleet has, whatever its number; its gateway
   * forwards candidates that belong to another one.
   */
  get tags(): readonly string[] {
    return this.#tags
  }

  /** Partitions to which outcomes are written, or were written before the number was lowered. */
  get allTags(): string[] {
    return [...this.#tags, ...this.#retired]
  }

  /** The outcome streams of a crawl. */
  streamsOf(crawl: string): string[] {
    return this.allTags.map((tag) => outcomesKey(tag, crawl))
  }

  /** @returns the registered number, 0 for none. @throws FrontierUnavailableError, which changes nothing */
  async refresh(): Promise<number> {
    const { tags, retired } = await answered(this.clock, UNREADABLE, readTags(this.#redis))
    this.#readAt = this.clock.monotonic()
    if (tags.length > 0) this.#tags = tags
    this.#retired = retired
    return tags.length
  }

  /** Reads again when the last reading is old. A reading that fails changes nothing: queues of old partitions are still served. */
  async recent(): Promise<void> {
    if (this.clock.monotonic() - this.#readAt >= REREAD_MS) await this.refresh().catch(() => undefined)
  }
}
