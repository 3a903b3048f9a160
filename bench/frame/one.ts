/** Runs one bench in a process of its own, so that no heap, timer or warm code of another one weighs on it. */
import { pathToFileURL } from 'node:url'

export type BenchSection = {
  name: string
  /** markdown */
  lines: string[]
}
/** `short`: shows that the bench runs. The others, as the command line has them, are for the benches that read them. */
export type BenchOptions = {
  short: boolean
  only?: string
  through?: string
  processes?: string
  scheme?: string
  seeds?: string
}
type BenchFile = { run(options: BenchOptions): Promise<BenchSection> }

if (import.meta.main) {
  process.once('disconnect', () => process.exit(1)) // the frame was stopped
  const [path = '', options = '{"short":false}'] = process.argv.slice(2)
  const { run } = (await import(pathToFileURL(path).href)) as BenchFile
  const section = await run(JSON.parse(options) as BenchOptions)
  await new Promise((sent) => process.send?.(section, sent))
  process.exit() // whatever a bench left open must not hold up the next
}
