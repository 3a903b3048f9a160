/** Calls to all partitions that succeed when some answer: one unavailable master of a cluster must not fail them. */

import { LedgerUnfitError } from './errors.ts'

/**
 * The replies of the partitions that answered, in order.
 * @throws LedgerUnfitError if any call throws it; the first error when none answered
 */
export async function thatAnswer<T>(asked: Promise<T>[]): Promise<T[]> {
  const answers = await Promise.allSettled(asked)
  const refusal = answers.find((one) => one.status === 'rejected' && one.reason instanceof LedgerUnfitError)
  if (refusal?.status === 'rejected') throw refusal.reason
  const answered = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const [first] = answers
  if (answered.length === 0 && first?.status === 'rejected') throw first.reason
  return answered
}
