/** Starts the processes of a fleet before its settings are known: they load their modules while Redis is started. */
import { type FleetOptions, type RoleEvent, startFleet } from './fleet.ts'

export type EarlyFleet = ReturnType<typeof earlyFleet>
type Shape = Omit<FleetOptions, 'env' | 'onEvent'>

/** A fleet for one piece of work: its processes end with the work unless they have begun. */
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
    /** Ends the processes, unless they have begun. */
    cancel: () => env.reject(new Error('the fleet is not needed')),
  }
}
