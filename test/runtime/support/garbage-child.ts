/** A process that has done some work, of which it needs nothing any more, and waits. */
import { giveMemoryBack } from '@decorum/runtime/idle-memory'

const ENTRIES = 400_000

const left = (): number => process.memoryUsage().heapUsed
const before = left()
let work: object[] | undefined = Array.from({ length: ENTRIES }, (_, n) => ({ n, text: `entry ${n}` }))
const worked = left() - before
work = undefined
giveMemoryBack(100)
setInterval(() => process.send?.({ kept: (left() - before) / worked, work }), 100)
