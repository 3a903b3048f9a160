/** Sorts by small numbers without comparing them: two passes over the entries and one over the keys. */

/** The entries 0, 1, 2 … in the order of their keys, which are below `most`; equal keys keep the order of the entries. */
export function sortedBy(key: Uint16Array, most: number): Uint16Array {
  const places = new Uint16Array(most + 1)
  for (const each of key) (places[each + 1] as number)++
  for (let i = 1; i < places.length; i++) places[i] = (places[i] as number) + (places[i - 1] as number)
  const sorted = new Uint16Array(key.length)
  key.forEach((each, entry) => {
    sorted[(places[each] as number)++] = entry
  })
  return sorted
}
