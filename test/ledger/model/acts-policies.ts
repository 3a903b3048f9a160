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

type Told = [site: string, policy: rules.PolicyGiven][]
/** Those that are in force. */
const policiesOf = ({ model }: Play): Told =>
  [...(model.policies?.sites ?? [])].flatMap(([site, { isGone, changedAt: _, ...policy }]): Told =>
    isGone ? [] : [[site, policy]],
  )
/** Mostly they stay as they are; of the others every second time all are withdrawn. */
function listDrawn(play: Play, dice: Dice): Told {
  if (dice(4) < 3) return policiesOf(play)
  if (dice(2) === 1) return []
  return SITES.filter(() => dice(3) === 2).map((site) => [site, policyDrawn(dice)])
}

/**
 * Least delays and policies of another version, now and then of an older one, and not always of every agent; at times two versions, one after
 * the other or an older one beside a later one.
 */
export const rates: Act = async (play, dice) => {
  const say = async (version: number): Promise<void> => {
    const { process, call } = caller(play, dice)
    const named = rules.AGENTS.filter(() => dice(4) < 3).map((agent): [string, number] => [
      agent,
      dice.pick([1_000, 4_000, 15_000, 2_000]),
    ])
    const told = listDrawn(play, dice)
    const asked = unlessInDoubt(
      process.verbs.rates({
        version,
        leastDelays: named.map(([agent, delayMs]) => ({ agent, delayMs })),
        sitePolicies: told.map(([site, policy]) => recordOf(site, policy)),
      }),
    )
    const expected = rules.rates(play.model, call, version, named, told)
    if (expected === `written ${version}`) for (const [agent, delayMs] of named) play.site.least(agent, delayMs)
    const written = await asked
    same('rates', written === 'doubt' ? written : `${written.kind} ${written.version}`, expected)
  }
  const known = play.model.leastDelays?.version ?? 0
  const version = Math.max(1, known + dice.pick([1, 0, 1, -1]))
  const manner = dice.pick(['alone', 'alone', 'two', 'at once', 'alone', 'alone'] as const)
  if (manner === 'at once') await Promise.all([say(version + 1), say(version)])
  else await say(version)
  if (manner === 'two') await say(version + 1)
  sayPolicies(play)
}

/** Tells the sites which policies the ledger has. */
export function sayPolicies({ model, site }: Play): void {
  site.policies([...(model.policies?.sites ?? [])].filter(([, { isGone }]) => !isGone))
}
