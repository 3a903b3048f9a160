/**
 * Parses SITE_POLICIES: delays, hours and budgets that sites are granted or ask for. A site is a host, a registrable domain with everything
 * below it, or everything below a name. @decorum/politeness decides which policy applies to a host, and the ledger applies it.
 */
import { readUrl, registrableDomain } from '@decorum/protocol'
import { z } from 'zod'
import { readJsonSetting } from './json-setting.ts'

const DAY_MS = 86_400_000
const HOURS = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)$/
/** Most policies: all of them are written to each partition in one step. */
const MOST = 1_000

export const SitePolicyEntry = z
  .strictObject({
    delayMs: z
      .int()
      .min(0)
      .max(DAY_MS)
      .optional()
      .meta({ description: 'least delay, ms; with `consent` the delay, also where agent or robots.txt ask for more' }),
    consent: z
      .string()
      .trim()
      .min(1, 'a reason is needed: who has consented, and how')
      .max(512)
      .optional()
      .meta({ description: 'why the site may have a shorter delay than it would be given: who consented, and how' }),
    hours: z
      .string()
      .regex(HOURS, "hours of the day in UTC such as '22:00-06:00' are needed")
      .optional()
      .meta({ description: 'visiting hours, UTC: nothing is requested at other times' }),
    requestsPerDay: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .meta({ description: 'requests to each host in one day (UTC), robots.txt included' }),
  })
  .refine((policy) => Object.keys(policy).length > 0, 'delayMs, hours or requestsPerDay is needed')
  .refine(
    ({ consent, delayMs }) => consent === undefined || delayMs !== undefined,
    'consent is for a delay: delayMs is needed beside it',
  )
  .refine(({ hours }) => hours === undefined || !isEmpty(hours), 'hours begin and end at the same time')

export const SitePoliciesFile = z
  .record(z.string(), SitePolicyEntry)
  .meta({ description: "site → policy; a site is 'www.example.com', 'domain:example.com' or '*.example.com'" })
export type SitePolicy = z.output<typeof SitePolicyEntry>
export type SitePolicies = { readonly [site: string]: SitePolicy }

/** Minutes of the UTC day; if `from` is after `to`, the hours include midnight. */
export type Hours = { from: number; to: number }

/** @param text  in the format of SITE_POLICIES, such as '22:00-06:00' */
export function readHours(text: string): Hours {
  const [from = '', to = ''] = text.split('-')
  return { from: minutes(from), to: minutes(to) }
}
const minutes = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
function isEmpty(text: string): boolean {
  const { from, to } = readHours(text)
  return from === to
}

/**
 * @param text  path of a JSON file, or inline JSON; empty: no policies
 * @throws      Error with a message for people when it cannot be read or is invalid
 */
export function readSitePolicies(text: string | undefined): SitePolicies {
  const policies = readJsonSetting(FORM, text || '{}')
  const sites = Object.keys(policies)
  if (sites.length > MOST) throw new Error(`SITE_POLICIES: at most ${MOST} policies are possible, not ${sites.length}`)
  const wrong = sites.flatMap((site) => wrongSite(site) ?? [])
  if (wrong.length > 0) throw new Error(wrong.join('\n  '))
  return policies
}

const FORM = {
  name: 'SITE_POLICIES',
  opens: '{',
  schema: SitePoliciesFile,
  members: Object.keys(SitePolicyEntry.shape),
  inspect(json: unknown) {
    // z.record would copy the object, and the copy would lose a member of this name
    if (typeof json === 'object' && json !== null && Object.hasOwn(json, '__proto__'))
      throw new Error(noSite('__proto__'))
  },
} as const

function wrongSite(site: string): string | undefined {
  const [, kind = '', name = ''] = /^(domain:|\*\.)?(.*)$/s.exec(site) ?? []
  const host = hostAs(name)
  const shown = JSON.stringify(site.slice(0, 200))
  if (host === undefined || (kind !== '' && /^[[\d.]+[\]\d]*$/.test(host))) return noSite(site)
  if (host !== name) return `SITE_POLICIES: ${shown} is written ${kind}${host}`
  if (kind !== 'domain:') return undefined
  const domain = registrableDomain(host)
  if (domain === host) return undefined
  return `SITE_POLICIES: ${shown} is no registrable domain${domain === undefined ? '' : `: domain:${domain} or *.${host} is`}`
}

const noSite = (site: string): string =>
  `SITE_POLICIES: ${JSON.stringify(site.slice(0, 200))} is no site: a host such as 'www.example.com', 'domain:example.com' or '*.example.com' is needed`

/** A host as in the URLs of candidates, without the dot of the root; undefined for anything else. */
function hostAs(text: string): string | undefined {
  if (!/^[^\s/?#@\\:*]+$|^\[[0-9a-f:.]+\]$/i.test(text)) return undefined
  const read = readUrl(`http://${text}`)
  return 'refused' in read ? undefined : read.host
}
