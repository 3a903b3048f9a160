/** The policies of sites: set, changed and withdrawn by the fleet's configuration. */
import type { SitePolicyRecord } from '@decorum/ledger'
import { type Act, caller, type Dice, optional, type Play, same, unlessInDoubt } from './play.ts'
import * as rules from './rules.ts'

const SITES = ['one.test', 'two.test', '*.test', 'domain:test', 'domain:two.test'] as const
/** Runs begin at eight o'clock. */
const HOURS = [
  { from: 481, to: 540 },
  { from: 0, to: 480 },
  { from: 480, to: 500 },
  { from: 1_380, to: 490 },
]

function policyDrawn(dice: Dice): rules.PolicyGiven {
  const delayMs = dice.pick([undefined, 2_000, 20_000, 500])
  return {
    ...optional('delayMs', delayMs),
    consent: delayMs !== undefined && dice(2) === 1,
    ...(dice(4) === 3 ? dice.pick(HOURS) : {}),
    ...optional('budget', dice(3) === 2 ? 1 + dice(3) : undefined),
  }
}

function recordOf(site: string, { delayMs, consent, from, to, budget }: rules.PolicyGiven): SitePolicyRecord {
  const hours = from === undefined || to === undefined ? undefined : { from, to }
  return { site, delayMs, hasConsent: consent, hours, requestsPerDay: budget, shown: {} }
}

/** Policies of another version, now and then of an older one; every second time all are withdrawn. */
export const policies: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const version = Math.max(1, (play.model.policies?.version ?? 0) + dice.pick([1, 1, 1, 0, -1]))
  const sites = dice(2) === 1 ? [] : SITES.filter(() => dice(3) === 2)
  const told = sites.map((site): [string, rules.PolicyGiven] => [site, policyDrawn(dice)])
  const asked = process.verbs.policies(
    version,
    told.map(([site, policy]) => recordOf(site, policy)),
  )
  const real = await unlessInDoubt(asked)
  same('policies', real, rules.policies(play.model, call, version, told))
  sayPolicies(play)
}

/** Tells the sites which policies the ledger has. */
export function sayPolicies({ model, site }: Play): void {
  site.policies([...(model.policies?.sites ?? [])].filter(([, { isGone }]) => !isGone))
}
