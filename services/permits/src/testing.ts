/** The parts of the permits service that tests use one by one. Not for other services. */
export { nextRequest } from './next-request.ts'
export { endOfOrder } from './order-end.ts'
export { PermitIds } from './permit-id.ts'
export { openPermits, type Permits } from './permits.ts'
export { orderCompletionBody } from './schemas.ts'
export { Shadow } from './shadow.ts'
