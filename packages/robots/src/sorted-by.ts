/** Sorting by small numbers without comparing them: two passes over the entries and one over the keys. */

/** The entries of an order (by default all, as they come), sorted by their keys; equal keys stay in order. */
export function sortedBy(key: Uint16Array, order: Uint16Array = key.map((_, entry) => entry)): Uint16Array {
  const places = new Uint16Array(0x10001)
  for (const entry of order) (places[(key[entry] as number) + 1] as number)++
  for (let i = 1; i < places.length; i++) places[i] = (places[i] as number) + (places[i - 1] as number)
  const sorted = new Uint16Array(order.length)
  for (const entry of order) {
    const at = key[entry] as number
    sorted[places[at] as number] = entry
    ;(places[at] as number)++
  }
  return sorted
}
