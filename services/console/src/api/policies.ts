/** The policy of one site in the fleet's configuration, changed like `decorum config apply` with the whole document. */
import { type Json, readDocument, SettingsError, type SitePolicies, type SitePolicy } from '@decorum/config'
import { OvertakenError, readCurrent, write } from '@decorum/config/fleet-config'
import { Problem } from '@decorum/runtime/http-api'
import type { ApiParts } from './parts.ts'

/**
 * @param policy  undefined: the policy of the site is removed
 * @param login   the operator, if the request does not name one
 * @returns       what is in force afterwards, or why nothing was changed
 */
export async function changePolicy(
  { redis }: Pick<ApiParts, 'redis'>,
  site: string,
  { policy, reason, by }: { policy?: SitePolicy; reason: string; by?: string | undefined },
  login: string,
) {
  const current = await readCurrent(redis)
  if (current === undefined) return new Problem(409, 'not-done', 'no process has written a configuration yet')
  const { [site]: before, ...others } = (current.values.SITE_POLICIES ?? {}) as SitePolicies
  if (policy === undefined && before === undefined)
    return new Problem(404, 'no-such-policy', `the site '${site}' has no policy`)
  const policies = { ...others, ...(policy === undefined ? {} : { [site]: policy }) }
  try {
    const values = readDocument({ SITE_POLICIES: policies as Json }, current.values)
    const { version } = await write(redis, current.version, { values, by: by ?? login, reason, via: 'apply' })
    return { site, policy, version }
  } catch (error) {
    if (error instanceof SettingsError) return new Problem(400, 'bad-policy', inOneLine(error))
    if (error instanceof OvertakenError) return new Problem(409, 'not-done', error.message)
    throw error
  }
}

const inOneLine = ({ message }: SettingsError): string =>
  message.replace(/^wrong settings:\s*/, '').replace(/\n\s*/g, '; ')
