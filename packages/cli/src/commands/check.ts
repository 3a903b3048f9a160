/** `decorum check URL`: may it be fetched, and why; by a robots.txt from a file or from the site itself. */
import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { type Agent, readUrl } from '@decorum/protocol'
import { type ProfileName, policies } from '@decorum/robots'
import { type CheckExplanation, explainCheck, printCheck } from '@decorum/robots/check'
import { askRobots } from '../ask-robots.ts'
import { DONE, type ExitCode, FAILED, messageOf, UsageError } from '../exit.ts'
import { type Meaning, meaningOf, printMeaning, sentenceOf } from '../robots-answer.ts'
import { type CliSettings, readCliSettings } from '../settings.ts'

export type CheckOptions = { agent?: string; robots?: string; profile?: ProfileName | 'all'; json?: boolean }

/** @returns DONE whatever the verdict, FAILED when the site gave none */
export async function check(text: string, options: CheckOptions): Promise<ExitCode> {
  const settings = readCliSettings(process.env)
  const at = readUrl(text)
  if ('refused' in at) throw new UsageError(`'${text.slice(0, 200)}' cannot be fetched at all: ${at.refused}`)
  const agent = whoAsks(settings, options.agent)
  const profile = options.profile ?? agent.profile
  const profiles = profile === 'all' ? (Object.keys(policies) as ProfileName[]) : [profile]
  const explain = (robots: Uint8Array, truncated: boolean, under: ProfileName[]): CheckExplanation =>
    explainCheck({
      url: at.origin + at.path,
      robots,
      truncated,
      agent: agent.tokens,
      profiles: under,
      floorMs: agent.minGapMs,
      capMs: agent.maxGapMs,
      honourCrawlDelay: agent.honourCrawlDelay,
    })

  if (options.robots !== undefined) {
    say(options.json, explain(await readRobots(options.robots), false, profiles))
    return DONE
  }
  const answer = await askRobots(at.origin, settings.agents.default.userAgent)
  // Profiles differ on which answers bring rules at all: a 429, a 206, a redirect too many.
  const meanings = profiles.map((name) => meaningOf(answer, name))
  const obeying = meanings.filter(({ kind }) => kind === 'obey').map((one) => one.profile)
  const explained =
    answer.kind === 'answered' && obeying.length > 0 ? explain(answer.octets, answer.cut, obeying) : undefined
  const { octets: _, ...said } = answer.kind === 'answered' ? answer : { ...answer, octets: undefined }
  const others = meanings.filter(({ kind }) => kind !== 'obey')
  say(options.json, explained, { sentence: sentenceOf(answer), said, others })
  return answer.kind === 'unanswered' ? FAILED : DONE
}

type Asked = { sentence: string; said: object; others: Meaning[] }

function say(json: boolean | undefined, explained: CheckExplanation | undefined, asked?: Asked): void {
  if (json) {
    const answer = asked === undefined ? {} : { asked: asked.said, withoutRules: asked.others }
    process.stdout.write(`${JSON.stringify({ ...answer, ...explained })}\n`)
    return
  }
  const lines = asked === undefined ? [] : [asked.sentence, ...asked.others.map(printMeaning)]
  if (explained !== undefined) lines.push(...(lines.length > 0 ? [''] : []), printCheck(explained).trimEnd())
  process.stdout.write(`${lines.join('\n')}\n`)
}

type Asker = Pick<Agent, 'profile' | 'minGapMs' | 'maxGapMs' | 'honourCrawlDelay'> & { tokens: string | string[] }

/** One of our agents by name, or anybody: a product token or a whole User-Agent, judged with our default manners. */
function whoAsks({ agents }: CliSettings, name: string | undefined): Asker {
  const known = agents.find(name)
  const { profile, minGapMs, maxGapMs, honourCrawlDelay } = known ?? agents.default
  const tokens = known === undefined ? (name ?? '') : [known.name, ...known.fallbacks]
  return { profile, minGapMs, maxGapMs, honourCrawlDelay, tokens }
}

async function readRobots(file: string): Promise<Uint8Array> {
  try {
    return file === '-' ? await buffer(process.stdin) : await readFile(file)
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${messageOf(error)}`)
  }
}
