/** Optional packages that the lock's own packages ask for and that it does not hold. */
export function missingFrom(lock: unknown): { place: string; name: string; version: string; dev: boolean }[]
