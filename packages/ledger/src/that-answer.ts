/** One master of a cluster that is away stops what is asked of its partitions, not what is asked of all of them. */

import { LedgerUnfitError } from './errors.ts'

/** What each told, of those that answered, in order. @throws LedgerUnfitError of any; what the first one threw when none answered */
export async function thatAnswer<T>(asked: Promise<T>[]): Promise<T[]> {
  const answers = await Promise.allSettled(asked)
  const refusal = answers.find((one) => one.status === 'rejected' && one.reason instanceof LedgerUnfitError)
  if (refusal?.status === 'rejected') throw refusal.reason
  const told = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const [first] = answers
  if (told.length === 0 && first?.status === 'rejected') throw first.reason
  return told
}
