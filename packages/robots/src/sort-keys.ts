/** Sorting of keys that lie in one buffer of octets. */

/** Below this an insertion sort is faster. */
const FEW = 12

/**
 * The order of the keys [starts[i], ends[i]): a shorter key before a longer one that it starts; equal keys by `tie`.
 * Quicksort in three parts, one octet at a time: no octet of a key is looked at twice at one depth, so keys that share
 * long beginnings cost their length once.
 */
export function sortByKey(
  octets: Uint8Array,
  starts: Int32Array,
  ends: Int32Array,
  tie: readonly number[],
): Int32Array {
  const order = new Int32Array(starts.length)
  for (let i = 0; i < order.length; i++) order[i] = i
  const stack: number[] = [0, order.length, 0]
  while (stack.length > 0) {
    const depth = stack.pop() as number
    const high = stack.pop() as number
    const low = stack.pop() as number
    if (high - low < FEW) {
      insertionSort(low, high, depth)
      continue
    }
    const pivot = octetAt(order[(low + high) >> 1] as number, depth)
    let less = low
    let more = high
    for (let i = low; i < more; ) {
      const entry = order[i] as number
      const octet = octetAt(entry, depth)
      if (octet < pivot) {
        order[i++] = order[less] as number
        order[less++] = entry
      } else if (octet > pivot) {
        order[i] = order[--more] as number
        order[more] = entry
      } else i++
    }
    stack.push(low, less, depth, more, high, depth)
    if (pivot >= 0) stack.push(less, more, depth + 1)
    else order.subarray(less, more).sort((a, b) => (tie[a] as number) - (tie[b] as number))
  }
  return order

  /** -1 behind the end. */
  function octetAt(entry: number, depth: number): number {
    const at = (starts[entry] as number) + depth
    return at < (ends[entry] as number) ? (octets[at] as number) : -1
  }

  function insertionSort(low: number, high: number, depth: number): void {
    for (let i = low + 1; i < high; i++) {
      const entry = order[i] as number
      let j = i - 1
      for (; j >= low && isAbove(order[j] as number, entry, depth); j--) order[j + 1] = order[j] as number
      order[j + 1] = entry
    }
  }

  function isAbove(a: number, b: number, depth: number): boolean {
    for (; ; depth++) {
      const inA = octetAt(a, depth)
      const inB = octetAt(b, depth)
      if (inA !== inB) return inA > inB
      if (inA < 0) return (tie[a] as number) > (tie[b] as number)
    }
  }
}
