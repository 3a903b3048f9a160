/** For Node 20 and 21: what the sources use and those have not yet. Nothing global is touched; pack.mjs puts these in place. */
export const withResolvers = () => {
  const made = {}
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}
export const groupBy = (items, keyOf) => {
  const groups = new Map()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
export const parseUrl = (text, base) => (URL.canParse(text, base) ? new URL(text, base) : null)
