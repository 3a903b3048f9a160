/** Runs all tasks in sequence, even if some fail. @throws the first error, at the end */
export async function runAll(ends: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = []
  for (const end of ends)
    try {
      await end()
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw errors[0]
}
