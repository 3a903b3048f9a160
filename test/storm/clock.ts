/** ms since 1970 UTC on the monotonic clock: what the sites' record is written by, read in this process. */
export const clock = (): number => performance.timeOrigin + performance.now()
