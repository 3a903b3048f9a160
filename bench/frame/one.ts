/** Runs one bench in a process of its own, so that no heap, timer or warm code of another one weighs on it. */
import { pathToFileURL } from 'node:url'

export type BenchSection = {
  name: string
  /** markdown */
  lines: string[]
}
type BenchFile = { run(options: { short: boolean }): Promise<BenchSection> }

if (import.meta.main) {
  process.once('disconnect', () => process.exit(1)) // the frame was stopped
  const [path = '', form = 'full'] = process.argv.slice(2)
  const { run } = (await import(pathToFileURL(path).href)) as BenchFile
  const section = await run({ short: form === 'short' })
  await new Promise((sent) => process.send?.(section, sent))
  process.exit() // whatever a bench left open must not hold up the next
}
