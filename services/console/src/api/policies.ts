/** Changes the policy of one site in the fleet's configuration, like `decorum config apply` with the whole document. */
import { type Json, readDocument, SettingsError } from '@decorum/config'
import { OvertakenError, readCurrent, write } from '@decorum/config/fleet-config'
import { Problem } from '@decorum/runtime/http-api'
import type { ApiParts } from './parts.ts'

/** The errors, in one line. */
const wrongIn = ({ message }: SettingsError): string =>
  message.replace(/^wrong settings:\s*/, '').replace(/\n\s*/g, '; ')

export type PolicyChange = {
  site: string
  /** undefined: removes the policy of the site */
  policy: object | undefined
  by: string
  reason: string
}

/** @returns the version in force afterwards, or why nothing was changed */
export async function changePolicy(
  { redis }: Pick<ApiParts, 'redis'>,
  { site, policy, by, reason }: PolicyChange,
): Promise<number | Problem> {
  if (site === '') return new Problem(400, 'bad-request', 'a site is needed, such as www.example.com')
  if (reason === '') return new Problem(400, 'bad-request', 'a reason is needed: it is written down')
  const current = await readCurrent(redis)
  if (current === undefined) return new Problem(409, 'not-done', 'no process has written a configuration yet')
  const { [site]: _, ...others } = (current.values.SITE_POLICIES ?? {}) as Record<string, Json>
  const policies = { ...others, ...(policy === undefined ? {} : { [site]: policy as Json }) }
  try {
    const values = readDocument({ SITE_POLICIES: policies }, current.values)
    return (await write(redis, current.version, { values, by, reason, via: 'apply' })).version
  } catch (error) {
    if (error instanceof SettingsError) return new Problem(400, 'bad-policy', wrongIn(error))
    if (error instanceof OvertakenError) return new Problem(409, 'not-done', error.message)
    throw error
  }
}
