/** All that can be looked at, against the model; and what must hold whatever the model says. */

import { laneName } from '@decorum/ledger/testing'
import { isAssigned } from '@decorum/protocol'
import { type Act, caller, DifferenceError, IDS, LANES, type Play, rounded, same } from './play.ts'
import * as rules from './rules.ts'

// --- looking -----------------------------------------------------------------------------------------------------

export const view: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const origin = dice.pick(rules.ORIGINS)
  const real = await process.verbs['view-origin'](origin, [...rules.AGENTS])
  rules.see(play.model, call)
  const expected = rules.originAt(play.model, origin)
  const { now } = real
  same(
    'view',
    {
      version: real.version,
      notBefore: real.state.notBefore,
      question: real.state.question?.fence,
      backOff: real.backOff,
      failures: real.failures ?? 0,
      paused: real.paused?.until,
      blocked: real.blocked?.until,
      override: real.override?.delayMs,
      delays: Object.fromEntries(
        rules.AGENTS.map((name) => [name, real.delays.find(({ agent }) => agent === name)?.delayMs]),
      ),
      lanes: real.lanes.map(({ waiting, due, state, tries, head }) => [waiting, due, state, tries, head?.id]),
    },
    {
      version: expected.version,
      notBefore: expected.notBefore,
      question: expected.question !== undefined && expected.question.until > now ? expected.question.fence : undefined,
      backOff: expected.closedUntil > now ? { until: expected.closedUntil, incidents: expected.incidents } : undefined,
      failures: expected.failures,
      paused: expected.pausedUntil > now ? expected.pausedUntil : undefined,
      blocked: expected.blockedUntil > now ? expected.blockedUntil : undefined,
      override:
        expected.override !== undefined && expected.override.until > now ? expected.override.delayMs : undefined,
      delays: Object.fromEntries(rules.AGENTS.map((name) => [name, expected.delays.get(name)])),
      lanes: rules.AGENTS.map((agent) => rules.look(play.model, laneName(agent, origin))),
    },
  )
}

/** All that is stored against all that the model holds, and what must hold whatever the model says. */
export async function check(play: Play): Promise<void> {
  const crawls = play.manner.crawls ? rules.CRAWLS : (['default'] as const)
  const real = await play.world.inspect(LANES, IDS, crawls)
  const { lanes, ids, outcomes, outbox, later } = play.model
  const sorted = (entries: [string, number][]): [string, number][] =>
    entries
      .map(([name, at]): [string, number] => [name, rounded(at) ?? at])
      .sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
  same(
    'due',
    sorted(real.due),
    sorted([...lanes].flatMap(([name, { due }]) => (due === undefined ? [] : [[name, due] as [string, number]]))),
  )
  same(
    'in flight',
    sorted(real.inFlight),
    sorted(
      [...lanes].flatMap(([name, { lease }]) =>
        lease === undefined ? [] : [[name, lease.looked] as [string, number]],
      ),
    ),
  )
  const slotless = [...lanes].flatMap(([name, { lease }]) =>
    lease !== undefined && !rules.takesSlot(lease) ? [name] : [],
  )
  same('without a slot', real.slotless.sort(), slotless.sort())
  same('outcomes', real.outcomes, outcomes)
  same('outbox', real.outbox, outbox)
  same('later', sorted(real.later), sorted([...later].map(([stored, { due }]) => [stored, due])))
  for (const crawl of crawls.slice(1))
    same(`outcomes of ${crawl}`, real.others[crawl], play.model.others.get(crawl) ?? [])
  const due = new Set(real.due.map(([name]) => name))
  const inFlight = new Set(real.inFlight.map(([name]) => name))
  const stored: string[] = []
  for (const name of LANES) {
    const lists = crawls.flatMap((crawl) => [rules.listIn('h', crawl), rules.listIn('q', crawl)])
    const all = lists.map((list) => (real.lists[`${list} ${name}`] ?? []).map((entry) => entry.split(' ')[3] ?? ''))
    const lane = lanes.get(name)
    same(
      `URLs of ${name}`,
      all,
      lists.map((list) => (lane === undefined ? [] : rules.urlsIn(lane, list).map(({ id }) => id))),
    )
    if (play.manner.crawls) {
      same(`turns in ${name}`, real.turns[name], lane === undefined ? [] : rules.turnsOf(lane))
      const permits = play.model.permitTurns.get(name)
      same(
        `turns of permits in ${name}`,
        real.permitTurns[name],
        rules.turnsOf(permits === undefined ? {} : { turns: permits }),
      )
    }
    for (const [at, list] of lists.entries())
      stored.push(...(all[at] ?? []).filter((id) => !isAssigned(id)).map((id) => rules.idIn(rules.crawlOf(list), id)))
    if (due.has(name) && inFlight.has(name)) throw new DifferenceError(`${name} is due and in flight`)
    if (all.flat().length > 0 && !due.has(name) && !inFlight.has(name))
      throw new DifferenceError(`${name} has work and is nowhere`)
  }
  same('each stored id is in one list, once', stored.sort(), real.ids.sort())
  same('ids', real.ids, [...ids].sort())
}

export const look: Act = (play) => check(play)
