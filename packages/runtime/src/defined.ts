/** Returns a copy of an object without the members that are undefined. */
export function defined<const T extends object>(members: T): { -readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  const found: Partial<T> = {}
  for (const name in members) if (members[name] !== undefined) found[name] = members[name]
  return found as { -readonly [K in keyof T]?: Exclude<T[K], undefined> }
}
