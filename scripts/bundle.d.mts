export function ensureBundle(): Promise<void>
