/** A fault that is put back: into the text of a file, or as a mutant into the scripts. */
import type { WorldOptions } from '../world.ts'

type About = {
  name: string
  /** a program of the reviewers (repro), the changelog, docs/promises.md, or a rule of the scripts that it breaks */
  of: string
  /** of the runs that look for it, where the usual ones have little of what it needs */
  options?: Omit<WorldOptions, 'seed' | 'planted'>
  /** why the world cannot find it */
  cannot?: string
}
/** Other text in the place of one that is in the file once. */
export type InCode = About & { file: string; text: string; put: string }
/** A mutant of test/ledger/model/mutants.ts, by its name. */
export type InScripts = About & { mutant: string }
export type PutBack = InCode | InScripts
/** found-by.json: by its name, the seed of the run that found it, after so many seconds of CPU, and by what */
export type FoundBy = Record<string, { seed: number; seconds: number; by: string }>
