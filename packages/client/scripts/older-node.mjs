/** For Node 20 and 21: what the sources use and those have not yet. Nothing global is touched; pack.mjs puts these in place. */
import * as crypto from 'node:crypto'

/** From 20.12 on there. */
export const hash =
  crypto.hash ?? ((algorithm, data, encoding = 'hex') => crypto.createHash(algorithm).update(data).digest(encoding))
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
