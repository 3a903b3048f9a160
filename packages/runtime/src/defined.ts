/** The members that have a value, for an object whose members are absent where they have none. */
export function defined<const T extends object>(members: T): { -readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  const found: Partial<T> = {}
  for (const name in members) if (members[name] !== undefined) found[name] = members[name]
  return found as { -readonly [K in keyof T]?: Exclude<T[K], undefined> }
}
