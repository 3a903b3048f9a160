/** Reads the policies of a fleet over time from a file. */
import { readSitePolicies } from '@decorum/config'
import type { PolicyVersion } from '@decorum/politeness'
import { messageOf, UsageError } from './exit.ts'
import { bytesOf } from './lines.ts'

/**
 * @param file  output of `decorum config policies --json`
 * @throws      UsageError when the file cannot be read or is no such output
 */
export async function readPoliciesFile(file: string): Promise<PolicyVersion[]> {
  try {
    const { versions } = JSON.parse(Buffer.from(await bytesOf(file)).toString()) as { versions?: unknown }
    if (!Array.isArray(versions))
      throw new Error("an object with 'versions' is needed, as 'decorum config policies --json' prints it")
    return versions.map((version: { at?: unknown; policies?: unknown } | null, n) => {
      const { at, policies } = version ?? {}
      if (typeof at !== 'number' || typeof policies !== 'object' || policies === null)
        throw new Error(`version ${n + 1}: the instant 'at' and 'policies' are needed`)
      return { at, policies: readSitePolicies(JSON.stringify(policies)) }
    })
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(`${file}: ${messageOf(error)}`)
  }
}
