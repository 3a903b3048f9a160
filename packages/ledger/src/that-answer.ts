/** One master of a cluster that is away stops what is asked of its partitions, not what is asked of all of them. */

/** What each told, of those that answered, in order. @throws what the first one threw when none did */
export async function thatAnswer<T>(asked: Promise<T>[]): Promise<T[]> {
  const answers = await Promise.allSettled(asked)
  const told = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
  const [first] = answers
  if (told.length === 0 && first?.status === 'rejected') throw first.reason
  return told
}
