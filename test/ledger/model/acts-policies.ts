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

/** Least delays and policies of another version, now and then of an older one, and not always of every agent; mostly policies stay as they are. */
export const rates: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const version = (play.model.leastDelays?.version ?? 1) + dice.pick([1, 0, 1, -1])
  const named = rules.AGENTS.filter(() => dice(4) < 3).map((agent): [string, number] => [
    agent,
    dice.pick([1_000, 4_000, 15_000, 2_000]),
  ])
  const told = dice(4) < 3 ? policiesOf(play) : policiesDrawn(dice)
  const asked = process.verbs.rates({
    version,
    leastDelays: named.map(([agent, delayMs]) => ({ agent, delayMs })),
    sitePolicies: told.map(([site, policy]) => recordOf(site, policy)),
  })
  const written = await unlessInDoubt(asked)
  const real = written === 'doubt' ? written : `${written.kind} ${written.version}`
  same('rates', real, rules.rates(play.model, call, version, named, told))
  if (real === `written ${version}`) for (const [agent, delayMs] of named) play.site.least(agent, delayMs)
  sayPolicies(play)
}

/** Those that are in force. */
const policiesOf = ({ model }: Play): [string, rules.PolicyGiven][] =>
  [...(model.policies?.sites ?? [])].flatMap(([site, { isGone, changedAt: _, ...policy }]) =>
    isGone ? [] : [[site, policy]],
  )
/** Every second time all are withdrawn. */
function policiesDrawn(dice: Dice): [string, rules.PolicyGiven][] {
  const sites = dice(2) === 1 ? [] : SITES.filter(() => dice(3) === 2)
  return sites.map((site) => [site, policyDrawn(dice)])
}

/** Tells the sites which policies the ledger has. */
export function sayPolicies({ model, site }: Play): void {
  site.policies([...(model.policies?.sites ?? [])].filter(([, { isGone }]) => !isGone))
}
