/** Parts of the permits service for unit tests. Not for other services. */
export { nextRequest } from './next-request.ts'
export { endOfOrder } from './order-end.ts'
export { PermitIds } from './permit-id.ts'
export { openPermits, type Permits } from './permits.ts'
export { orderCompletionBody } from './schemas.ts'
export { Shadow } from './shadow.ts'
