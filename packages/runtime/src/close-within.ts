/** Closing what waits for Redis, which may be gone: bounded, so that a service that was asked to stop does stop. */

const CLOSE_MS = 5_000

/** Waits for each, together at most `ms`; what does not end by then is left to the end of the process. */
export async function closeWithin(work: Promise<unknown>[], ms = CLOSE_MS): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([Promise.allSettled(work), late])
  clearTimeout(timer)
}
