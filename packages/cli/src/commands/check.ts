/** `decorum check URL`: may it be fetched, and why; by a robots.txt from a file or from the site itself. */
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { type Agent, readUrl } from '@decorum/protocol'
import { type ProfileName, policies } from '@decorum/robots'
import { askRobots, type RobotsAnswer } from '../ask-robots.ts'
import { explainCheck, printCheck } from '../check.ts'
import { CommandError, DONE, type ExitCode, messageOf, UsageError } from '../exit.ts'
import { type CliSettings, readCliSettings } from '../settings.ts'

export type CheckOptions = { agent?: string; robots?: string; profile?: ProfileName | 'all'; json?: boolean }

export async function check(url: string, options: CheckOptions): Promise<ExitCode> {
  const settings = readCliSettings(process.env)
  const at = readUrl(url)
  if ('refused' in at) throw new UsageError(`'${url.slice(0, 200)}' cannot be fetched at all: ${at.refused}`)
  const agent = whoAsks(settings, options.agent)
  const answer =
    options.robots === undefined ? await askRobots(at.origin, settings.agents.default.userAgent) : undefined
  const robots = answer === undefined ? await readRobots(options.robots ?? '') : bodyOf(answer)
  const profile = options.profile ?? agent.profile
  const profiles = profile === 'all' ? (Object.keys(policies) as ProfileName[]) : [profile]
  const explained = explainCheck({
    url: at.origin + at.path,
    robots,
    agent: agent.tokens,
    profiles,
    floorMs: agent.minGapMs,
    capMs: agent.maxGapMs,
  })
  if (options.json)
    process.stdout.write(`${JSON.stringify({ ...(answer && { asked: said(answer) }), ...explained })}\n`)
  else
    process.stdout.write(`${answer === undefined ? '' : `${sentence(answer)}\n`}${printCheck(explained).trimEnd()}\n`)
  return DONE
}

type Asker = Pick<Agent, 'profile' | 'minGapMs' | 'maxGapMs'> & { tokens: string | string[] }

/** One of our agents by name, or anybody: a product token or a whole User-Agent, judged with our default manners. */
function whoAsks({ agents }: CliSettings, name: string | undefined): Asker {
  const known = agents.find(name)
  const { profile, minGapMs, maxGapMs } = known ?? agents.default
  const tokens = known === undefined ? (name ?? '') : [known.name, ...known.fallbacks]
  return { profile, minGapMs, maxGapMs, tokens }
}

async function readRobots(file: string): Promise<Uint8Array> {
  try {
    return file === '-' ? await buffer(process.stdin) : await readFile(file)
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${messageOf(error)}`)
  }
}

/** What there is to obey; an answer that is no file is the site saying that there is none. */
function bodyOf(answer: RobotsAnswer): Uint8Array {
  if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300) return answer.octets
  if (answer.kind === 'answered' && answer.status >= 400 && answer.status < 500 && answer.status !== 429)
    return new Uint8Array()
  if (answer.kind === 'too-many-redirects') return new Uint8Array()
  // Nobody knows the rules now: the gateway would park the URL and ask again, so there is no verdict to explain.
  throw new CommandError(`${sentence(answer)}: unreachable, so nothing may be fetched before it answers`)
}

function sentence(answer: RobotsAnswer): string {
  const where = answer.found === answer.asked ? answer.asked : `${answer.asked} → ${answer.found}`
  switch (answer.kind) {
    case 'answered': {
      const none = answer.status >= 400 && answer.status < 500 && answer.status !== 429
      const what = none
        ? 'no robots.txt, no restriction'
        : `${answer.octets.length} octets${answer.cut ? ', cut there' : ''}`
      return `${where}: ${answer.status}, ${what}, ${Math.round(answer.ms)} ms`
    }
    case 'too-many-redirects':
      return `${where}: more than five redirects, as if there were none`
    case 'unanswered':
      return `${where}: ${answer.why}`
    default:
      return answer satisfies never
  }
}

function said(answer: RobotsAnswer): object {
  if (answer.kind !== 'answered') return answer
  const { octets, ...rest } = answer
  return { ...rest, bytes: octets.length }
}
