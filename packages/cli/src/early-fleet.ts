/** Starts the processes of a fleet before its settings are known: they load their modules while Redis is started. */
import { type Fleet, type FleetOptions, type RoleEvent, startFleet } from './fleet.ts'

export type EarlyFleet = {
  /** Resolves when each process is ready with these settings. @throws CommandError or UsageError, as `startFleet` does */
  begin(env: NodeJS.ProcessEnv, onEvent: (event: RoleEvent) => void): Promise<Fleet>
  /** Ends the processes, unless they have begun. */
  cancel(): void
}

/** A fleet for one piece of work: its processes end with the work unless they have begun. */
export async function withEarlyFleet<T>(
  shape: Parameters<typeof earlyFleet>[0],
  work: (fleet: EarlyFleet) => Promise<T>,
): Promise<T> {
  const fleet = earlyFleet(shape)
  try {
    return await work(fleet)
  } finally {
    fleet.cancel()
  }
}

export function earlyFleet(shape: Omit<FleetOptions, 'env' | 'onEvent'>): EarlyFleet {
  const env = Promise.withResolvers<NodeJS.ProcessEnv>()
  let emit: (event: RoleEvent) => void = () => undefined
  const starting = startFleet({ ...shape, env: env.promise, onEvent: (event) => emit(event) })
  starting.catch(() => undefined) // `begin` reports the error
  return {
    begin(known, onEvent) {
      emit = onEvent
      env.resolve(known)
      return starting
    },
    cancel: () => env.reject(new Error('the fleet is not needed')),
  }
}
