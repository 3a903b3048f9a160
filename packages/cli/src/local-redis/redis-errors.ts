/** Why there is no Redis to start with; each message can be shown as it is. */

/** REDIS_URL is no Redis URL, or nothing answers there. */
export class RedisUrlError extends Error {
  override readonly name = 'RedisUrlError'
  readonly code = 'REDIS_URL'
}

/** A fleet with a Redis of its own runs for this user, or on this data folder: two would be two crawlers to every site. */
export class DataFolderTakenError extends Error {
  override readonly name = 'DataFolderTakenError'
  readonly code = 'DATA_FOLDER_TAKEN'
  readonly place: string
  /** @param place  its address, without password */
  constructor(dataDir: string, place: string) {
    super(
      `a fleet runs here already, its Redis on ${dataDir}, at ${place}: 'crawl', 'enqueue' and 'check' use it as it is; ` +
        'stop it before another one is started',
    )
    this.place = place
  }
}

/** The embedded Redis did not start, or the settings forbid it. */
export class EmbeddedRedisError extends Error {
  override readonly name = 'EmbeddedRedisError'
  readonly code = 'EMBEDDED_REDIS'
}
