/** What a caller of this package holds: a Redis that answers, and a function that releases it. */
export type RunningRedis = {
  /** For connections: holds the password of an embedded Redis. */
  url: string
  /** For people and files: the same without user and password. */
  place: string
  /** joined: another process has started it */
  kind: 'given' | 'embedded' | 'joined'
  /** Data folder of an embedded Redis. */
  dir?: string
  /** Process id of the embedded Redis at its start. */
  pid?: number
  /** Do other commands use this Redis now? Unknown for a Redis that was given, hence yes. */
  isShared(): Promise<boolean>
  /**
   * This process does not need it any more. An embedded Redis ends, its data on disk, with the last process that uses it;
   * a Redis that was given is left alone. May be called twice.
   */
  stop(): Promise<void>
}
