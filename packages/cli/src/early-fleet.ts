/** Starts the processes of a fleet before its settings are known: they load their modules while Redis is started. */
import { type FleetOptions, type RoleEvent, startFleet } from './fleet.ts'

export type EarlyFleet = ReturnType<typeof earlyFleet>
type Shape = Omit<FleetOptions, 'env' | 'onEvent'>

/** Starts a fleet for `work`, and ends its processes after the work if `begin` has not been called. */
export async function withEarlyFleet<T>(shape: Shape, work: (fleet: EarlyFleet) => Promise<T>): Promise<T> {
  const fleet = earlyFleet(shape)
  try {
    return await work(fleet)
  } finally {
    fleet.cancel()
  }
}

export function earlyFleet(shape: Shape) {
  const env = Promise.withResolvers<NodeJS.ProcessEnv>()
  let emit: FleetOptions['onEvent']
  const starting = startFleet({ ...shape, env: env.promise, onEvent: (event) => emit?.(event) })
  starting.catch(() => undefined) // `begin` reports the error
  return {
    /** Resolves when each process is ready with these settings. @throws CommandError or UsageError, as `startFleet` does */
    begin(known: NodeJS.ProcessEnv, onEvent: (event: RoleEvent) => void) {
      emit = onEvent
      env.resolve(known)
      return starting
    },
    /** Ends the processes, unless `begin` has been called. */
    cancel: () => env.reject(new Error('the fleet is not needed')),
  }
}
