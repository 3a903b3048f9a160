/** SIGINT, SIGTERM and the like: the first signal requests an orderly end, the second ends the process at once. */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** @param onSecond  called at each further signal */
export function catchInterrupt(onSecond: () => void) {
  const first = new AbortController()
  const onSignal = (name: NodeJS.Signals) => {
    if (first.signal.aborted) onSecond()
    else first.abort(name)
  }
  for (const name of SIGNALS) process.on(name, onSignal)
  return {
    /** Aborts at the first signal; `reason` is its name. */
    signal: first.signal,
    /** Restores the default handling of the signals. */
    release: () => {
      for (const name of SIGNALS) process.off(name, onSignal)
    },
  }
}
