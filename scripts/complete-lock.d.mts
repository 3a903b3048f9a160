/** Optional packages that the lock's own packages ask for and that it does not hold. */
export function missingFrom(lock: unknown): { place: string; name: string; version: string; dev: boolean }[]
/** Places of packages that could be installed somewhere without anything to verify them by. */
export function unverifiedIn(lock: unknown): string[]
