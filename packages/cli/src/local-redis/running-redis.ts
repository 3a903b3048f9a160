/** A Redis that answers, with a function that releases it. */
export type RunningRedis = {
  /** For connections: contains the password of an embedded Redis. */
  url: string
  /** For people and files: the URL without user and password. */
  place: string
  /** joined: another process has started it */
  kind: 'given' | 'embedded' | 'joined'
  /** Data folder of an embedded Redis. */
  dir?: string
  /** Process id of the embedded Redis at its start. */
  pid?: number
  /** Whether other commands use this Redis now; true for a given Redis, where this is unknown. */
  isShared(): Promise<boolean>
  /**
   * Releases Redis for this process. An embedded Redis ends, its data on disk, with the last process that uses it;
   * a Redis that was given is left alone. May be called twice.
   */
  stop(): Promise<void>
}
