/** The two BullMQ queues of a partition: `candidates` in, `orders` out. Prefix = the partition's tag with its braces. */

export const CANDIDATES = 'candidates'
export const ORDERS = 'orders'

/** Job name of each queue; BullMQ requires one, and it is not used. */
export const JOB_NAMES = { candidates: 'candidates', orders: 'orders' } as const

/** Options that make BullMQ keep a queue inside its partition's slot. */
export const queueOptions = (tag: string): { prefix: string } => ({ prefix: tag })
