/** Reads from a file the site policies of a fleet in each version of its configuration. */
import { readFile } from 'node:fs/promises'
import { readSitePolicies } from '@decorum/config'
import type { PolicyVersion } from '@decorum/politeness'
import { messageOf, UsageError } from './exit.ts'

/**
 * @param file  output of `decorum config policies --json`
 * @throws      UsageError when the file cannot be read or is no such output
 */
export async function readPoliciesFile(file: string): Promise<PolicyVersion[]> {
  try {
    const { versions } = JSON.parse(await readFile(file, 'utf8')) as { versions?: unknown }
    if (!Array.isArray(versions))
      throw new Error("an object with 'versions' is needed, as 'decorum config policies --json' prints it")
    return versions.map((version: { at?: unknown; policies?: unknown } | null, n) => {
      const { at, policies } = version ?? {}
      if (typeof at !== 'number' || typeof policies !== 'object' || policies === null)
        throw new Error(`version ${n + 1}: the instant 'at' and 'policies' are needed`)
      return { at, policies: readSitePolicies(JSON.stringify(policies)) }
    })
  } catch (error) {
    throw new UsageError(`${file}: ${messageOf(error)}`)
  }
}
