/** `decorum check URL`: may it be fetched, and why; with a robots.txt from a file, from the running fleet, or from the site. */
import type { Agent } from '@decorum/config'
import { length } from '@decorum/console/words'
import { type LedgerWithViews, type OriginView, openLedgerWithViews } from '@decorum/ledger/views'
import { delayOwed, delaySentence, policySentence } from '@decorum/politeness'
import { printable, printableAll } from '@decorum/protocol'
import { needsRules, type ProfileName, policies, ROBOTS_MAX_BYTES } from '@decorum/robots'
import { type CheckExplanation, type CheckQuestion, explainCheck, printCheck } from '@decorum/robots/check'
import { defined } from '@decorum/runtime/defined'
import { agreedEnv } from '../agreed-settings.ts'
import { requestRobotsOf, type RobotsAnswer } from '../ask-robots.ts'
import { CommandError, DONE, type ExitCode, FAILED } from '../exit.ts'
import { bytesOf } from '../lines.ts'
import { type Meaning, meaningIn, meaningOf, printMeaning } from '../robots-answer.ts'
import { knownRedis } from '../running-redis.ts'
import { type CliSettings, readCliSettings } from '../settings.ts'
import { printResult } from '../terminal.ts'
import { readTarget } from '../typed.ts'

export type CheckOptions = { agent?: string; robots?: string; profile?: ProfileName | 'all'; json?: boolean }

/**
 * @returns DONE when the URL may be fetched now under every requested profile; FAILED when a rule forbids it, and when nothing may be
 * fetched yet because robots.txt is unreachable: the site gave no answer, or one such as 503
 */
export async function check(text: string, options: CheckOptions): Promise<ExitCode> {
  const env = options.robots === undefined ? await agreedEnv(process.env) : process.env
  const settings = readCliSettings(env)
  const at = readTarget(text)
  const { own, tokens } = agentFor(settings, options.agent)
  const profile = options.profile ?? own.profile
  const profiles = profile === 'all' ? (Object.keys(policies) as ProfileName[]) : [profile]
  const explain = (robots: Uint8Array, truncated: boolean, under: ProfileName[], view?: OriginView): CheckExplanation =>
    explainCheck({
      url: at.origin + at.path,
      robots,
      truncated,
      agent: tokens,
      profiles: under,
      floorMs: own.minDelayMs,
      capMs: own.maxDelayMs,
      honourCrawlDelay: own.honourCrawlDelay,
      ...defined({ inForce: view && inForce(view, own) }),
    })

  if (options.robots !== undefined) {
    const explained = explain(await bytesOf(options.robots), false, profiles)
    printLine(options.json, at.origin, explained)
    return isAllowed(explained) ? DONE : FAILED
  }
  const found = await findRules(at.origin, profiles, own, settings, env)
  // Profiles differ on which answers contain rules: a 429, a 206, too many redirects.
  const obeying = found.meanings.filter(({ kind }) => kind === 'obey').map((one) => one.profile)
  const explained = obeying.length > 0 ? explain(found.body, found.cut, obeying, found.view) : undefined
  printLine(options.json, at.origin, explained, found)
  const isClosed = !found.isAnswered || found.meanings.some(({ kind }) => kind === 'closed')
  return !isClosed && (explained === undefined || isAllowed(explained)) ? DONE : FAILED
}

const isAllowed = ({ verdicts }: CheckExplanation): boolean => verdicts.every(({ allowed }) => allowed)

type Found = Omit<RobotsAnswer, 'event'> & {
  meanings: Meaning[]
  /** why there is no answer */
  unanswered?: string
  /** state of the running fleet; absent: no fleet runs */
  view?: OriginView
}

const TRIES = 3

/** The answer that the running fleet has recorded; else robots.txt is fetched, by the fleet or, if none runs, by this command. */
async function findRules(
  origin: string,
  profiles: ProfileName[],
  agent: Agent,
  settings: CliSettings,
  env: NodeJS.ProcessEnv,
): Promise<Found> {
  const asFound = ({ event, facts, ...answer }: RobotsAnswer, by: 'alone' | 'fleet'): Found => ({
    ...answer,
    facts: { ...facts, by },
    meanings: profiles.map((name) => meaningOf(event, name)),
    ...defined({
      unanswered: event === undefined ? 'not-sent' : event.kind === 'unanswered' ? event.reason : undefined,
    }),
  })
  const redis = await knownRedis(env)
  if (redis === undefined) {
    const answer = await requestRobotsOf(origin, { agent, env, fleet: undefined })
    if (answer === undefined) throw new Error('nothing else could have fetched it')
    return asFound(answer, 'alone')
  }
  const ledger = await openLedgerWithViews({ ...settings, redis })
  try {
    for (let tries = 0; ; tries++) {
      const view = await ledger.viewOrigin(origin, [])
      const known = await knownToFleet(ledger, view, profiles, tries > 0)
      if (known !== undefined) return { ...known, view }
      if (tries === TRIES) throw new CommandError(`the robots.txt of ${origin} is being fetched: try again`)
      const answer = await requestRobotsOf(origin, {
        agent,
        env: { ...env, REDIS_URL: redis },
        fleet: { ledger, version: view.version },
      })
      if (answer !== undefined && answer.event === undefined) return { ...asFound(answer, 'fleet'), view } // nothing was sent
    }
  } finally {
    await ledger.close()
  }
}

/** Gives the delay in force if an operator or the policy of the site decides it; undefined if the rules or the agent decide. */
const inForce =
  (view: OriginView, agent: Agent): NonNullable<CheckQuestion['inForce']> =>
  ({ delayMs, decidedBy, site }) => {
    const clamped = decidedBy === 'cap' && site !== undefined ? { clampedFrom: site.seconds } : {}
    const byRules = { agent: agent.key, delayMs: decidedBy === 'floor' ? 0 : delayMs, ...clamped }
    const owed = delayOwed({ ...view, delays: [byRules] }, agent)
    const isByRules = ['floor', 'crawl-delay', 'cap'].includes(owed.from)
    const sentence = delaySentence(owed, view, length)
    return isByRules ? undefined : { delayMs: owed.delayMs, decidedBy: owed.from, sentence }
  }

const ALONE = 'No fleet is running here, so this request did not wait for a lane.'

/** The answer and rules that the fleet has recorded; undefined: robots.txt has to be fetched first. */
async function knownToFleet(
  ledger: LedgerWithViews,
  { origin, state, now }: OriginView,
  profiles: ProfileName[],
  isNew: boolean,
): Promise<Found | undefined> {
  const meanings = profiles.map((name) => meaningIn(state, name, now))
  const known = meanings.filter((one) => one !== undefined)
  const { answer, copy } = state
  if (known.length < meanings.length || answer === undefined) return undefined
  const hash = profiles.map((name) => needsRules(state, policies[name], now)).find((one) => one !== undefined)
  const body = hash === undefined ? new Uint8Array() : await ledger.body(ledger.partitionOf(origin), hash)
  if (body === undefined) return undefined // the body is lost: the fleet would fetch it again, and this command does the same
  const recorded = isNew
    ? 'fetched by the fleet, in its turn'
    : `as the fleet recorded ${length(now - (copy?.at ?? answer.at))} ago`
  const status = answer.status ?? answer.reason ?? answer.kind
  return {
    meanings: known,
    body,
    cut: body.length > ROBOTS_MAX_BYTES,
    isAnswered: answer.status !== undefined || answer.reason === 'too-many-redirects',
    sentence: `${origin}/robots.txt: ${status}, ${recorded}`,
    facts: { asked: `${origin}/robots.txt`, by: isNew ? 'fleet' : 'known', at: answer.at, status },
    ...defined({ unanswered: answer.reason }),
  }
}

function printLine(
  json: boolean | undefined,
  origin: string,
  explained: CheckExplanation | undefined,
  found?: Found,
): void {
  const { facts, meanings = [], sentence, unanswered, view } = found ?? {}
  const others = meanings.filter(({ kind }) => kind !== 'obey')
  const policy = view?.policy
  const answer = facts && { asked: facts, withoutRules: others, policy }
  const lines =
    sentence === undefined
      ? []
      : [
          ...(view === undefined ? [ALONE] : []),
          printable(sentence),
          ...others.map((one) => printMeaning(one, origin, unanswered)),
        ]
  if (explained !== undefined) lines.push(...(lines.length > 0 ? [''] : []), printCheck(explained, printable).trimEnd())
  if (policy !== undefined) lines.push('', `policy   ${policySentence(printableAll(policy), length)}`)
  printResult(json, { ...answer, ...explained }, lines.join('\n'))
}

/** Finds a configured agent by name; any other product token or User-Agent is judged with the settings of the default agent. */
function agentFor({ agents }: CliSettings, name: string | undefined): { tokens: string | string[]; own: Agent } {
  const known = agents.find(name)
  const tokens = known === undefined ? (name ?? '') : [known.name, ...known.fallbacks]
  return { tokens, own: known ?? agents.default }
}
