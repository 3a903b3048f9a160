/** Parts of granting for unit tests. Not for services. */
export { robotsOrders } from './robots-orders.ts'
export { robotsRoom } from './robots-room.ts'
export { Lines } from './waiting.ts'
