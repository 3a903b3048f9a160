/**
 * robots.txt: ours against npm robots-parser in one run, and against google/robotstxt's C++ where ROBOTSTXT_BINARY names a
 * wrapper of it (its protocol: test/robots/compare/reference-process.ts). All times are processor time of one thread.
 *
 *   node bench/robots.bench.ts [--short]
 */
import { spawnSync } from 'node:child_process'
import { parseRobots } from '@decorum/robots'
import robotsParserModule from 'robots-parser'
import { round, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import {
  hostile,
  hostileUrls,
  large,
  literals,
  ordinaryUrls,
  page,
  sitemapList,
  small,
  worstCases,
} from './robots/files.ts'
import { heldKb, perCallMs, rates } from './robots/measure.ts'
import { realFiles } from './robots/real-files.ts'

type Robot = { isAllowed(url: string, agent: string): boolean | undefined }
const robotsParser = robotsParserModule as unknown as (url: string, text: string) => Robot

const AGENT = 'avocet'
const ADDRESS = 'https://example.org/robots.txt'

type Case = {
  name: string
  text: string
  urls: string[]
  held: number
  target: [match: number, parse: number, memory: number]
}

function cases(): Case[] {
  return [
    { name: 'small: 1 KB, 22 rules', text: small(), urls: ordinaryUrls(), held: 2_000, target: [5, 2, 0.6] },
    { name: 'large: 90 KB, 2,000 rules', text: large(), urls: ordinaryUrls(), held: 40, target: [50, 2.5, 0.5] },
    {
      name: 'hostile: 500 KiB, 17,600 wildcard rules',
      text: hostile(),
      urls: ordinaryUrls(),
      held: 8,
      target: [20, 2, 0.5],
    },
    { name: 'page of HTML, 60 KB', text: page(), urls: ordinaryUrls(), held: 40, target: [5, 2, 0.6] },
    { name: 'list of 5,000 sitemaps, 300 KB', text: sitemapList(), urls: ordinaryUrls(), held: 8, target: [5, 2, 0.6] },
    { name: 'wildcard rules, hostile URLs', text: hostile(), urls: hostileUrls(), held: 0, target: [100, 0, 0] },
  ]
}

function compare(
  { name, text, urls, held, target }: Case,
  ms: number,
): { speed: string[]; parse: string[] | undefined } {
  const octets = Buffer.from(text)
  const ours = parseRobots(octets)
  const theirs = robotsParser(ADDRESS, text)
  const url = (i: number): string => urls[i % urls.length] as string
  const match = rates(
    { ours: (i) => ours.isAllowed(url(i), AGENT), theirs: (i) => theirs.isAllowed(url(i), AGENT) },
    ms,
  )
  const google = googleChecks(octets, urls, ms)
  const ratio = match.ours / match.theirs
  const speed = [
    name,
    perSecond(match.ours),
    perSecond(match.theirs),
    `${round(ratio)} ×`,
    `≥ ${target[0]}`,
    google === undefined ? '–' : perSecond(google),
  ]
  if (held === 0) return { speed, parse: undefined }

  const parse = rates(
    {
      ours: () => parseRobots(octets),
      oursText: () => parseRobots(text),
      theirs: () => robotsParser(ADDRESS, text),
      oursAndCheck: (i) => parseRobots(octets).isAllowed(url(i), AGENT),
      theirsAndCheck: (i) => robotsParser(ADDRESS, text).isAllowed(url(i), AGENT),
    },
    ms,
  )
  // Each held object has read a source of its own, as in a crawler, and has answered once.
  const oursKb = heldKb(() => {
    const robots = parseRobots(Buffer.from(octets))
    robots.isAllowed(url(0), AGENT)
    return robots
  }, held)
  const theirsKb = heldKb(() => {
    const robots = robotsParser(ADDRESS, Buffer.from(octets).toString('latin1'))
    robots.isAllowed(url(0), AGENT)
    return robots
  }, held)
  return {
    speed,
    parse: [
      name,
      `${perSecond(parse.ours)} (${round((parse.ours * octets.length) / 1e6, 0)} MB/s)`,
      perSecond(parse.oursText),
      perSecond(parse.theirs),
      `${round(parse.ours / parse.theirs)} × (≥ ${target[1]})`,
      `${round(parse.oursAndCheck / parse.theirsAndCheck)} ×`,
      `${round(oursKb)} / ${round(theirsKb)} KB`,
      `${round(oursKb / theirsKb, 2)} × (≤ ${target[2]})`,
    ],
  }
}

/** Checks per second of google/robotstxt, which reads the file again for each: many URLs for one file in one process. */
function googleChecks(octets: Buffer, urls: string[], ms: number): number | undefined {
  const binary = process.env.ROBOTSTXT_BINARY
  if (!binary) return undefined
  const number = (value: number): Buffer => {
    const four = Buffer.alloc(4)
    four.writeUInt32LE(value)
    return four
  }
  const record = (count: number): Buffer => {
    const asked = urls.slice(0, count).flatMap((url) => [number(url.length), Buffer.from(url)])
    return Buffer.concat([
      number(octets.length),
      octets,
      number(1),
      number(AGENT.length),
      Buffer.from(AGENT),
      number(Math.min(count, urls.length)),
      ...asked,
    ])
  }
  const run = (input: Buffer): number => {
    const startedAt = performance.now()
    const { status } = spawnSync(binary, { input })
    if (status !== 0) throw new Error(`ROBOTSTXT_BINARY ended with ${status}`)
    return performance.now() - startedAt
  }
  const empty = Math.min(run(record(0)), run(record(0)))
  let count = 1
  let took = run(record(count)) - empty
  while (took < ms && count < urls.length) {
    count = Math.min(urls.length, count * 4)
    took = run(record(count)) - empty
  }
  return (count / took) * 1_000
}

function perSecond(rate: number): string {
  return rate >= 10_000 ? `${round(rate / 1_000, 0)} k/s` : `${round(rate, 0)}/s`
}

function literalRules(ms: number): string[][] {
  const urls = ordinaryUrls()
  return [20, 200, 2_000, 20_000].map((rules) => {
    const text = literals(rules)
    const ours = parseRobots(text)
    const theirs = robotsParser(ADDRESS, text)
    const match = rates(
      {
        ours: (i) => ours.isAllowed(urls[i % urls.length] as string, AGENT),
        theirs: (i) => theirs.isAllowed(urls[i % urls.length] as string, AGENT),
      },
      ms,
    )
    return [round(rules, 0), `${round(1e9 / match.ours, 0)} ns`, `${round(1e9 / match.theirs, 0)} ns`]
  })
}

function worst(ms: number): { rows: string[][]; slowest: number } {
  let slowest = 0
  const rows = worstCases().map(({ name, file, url }) => {
    const octets = Buffer.from(file)
    const parse = perCallMs(() => parseRobots(octets), ms)
    const first = perCallMs(() => parseRobots(octets).isAllowed(url, AGENT), ms) - parse
    const robots = parseRobots(octets)
    for (let n = 0; n < 4; n++) robots.isAllowed(url, AGENT)
    const later = perCallMs(() => robots.isAllowed(url, AGENT), ms)
    const preparing = perCallMs(() => asked(octets, url), ms) - perCallMs(() => asked(octets), ms)
    const explain = perCallMs(() => robots.explain(url, AGENT), ms)
    slowest = Math.max(slowest, first, preparing, later)
    return [name, ...[parse, first, preparing, later, explain].map((each) => round(Math.max(0, each), 2))]
  })
  return { rows, slowest }
}

/** The file after the three questions that come before the one which builds its index; and after that one too. */
function asked(octets: Buffer, url?: string): unknown {
  const robots = parseRobots(octets)
  for (let n = 0; n < 3; n++) robots.isAllowed('/', AGENT)
  return url === undefined ? robots : robots.isAllowed(url, AGENT)
}

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const ms = short ? 30 : 1_000
  const corpus = process.env.ROBOTS_CORPUS
  const compared = cases().map((one) => compare(one, ms))
  const { rows, slowest } = worst(short ? 20 : 300)
  return {
    name: 'robots: parsing and matching',
    lines: [
      `npm robots-parser 3.0.1 in the same process by turns; processor time of the thread, median of three loops of ${ms} ms.`,
      'A check is `isAllowed` on a parsed file; google/robotstxt (C++, -O2) reads the file again for each check; its column is wall-clock time, low on a busy machine.',
      '',
      ...table(
        ['checks', 'ours', 'robots-parser', 'ratio', 'goal', 'google, read and check'],
        compared.map(({ speed }) => speed),
      ),
      '',
      ...table(
        [
          'parsing',
          'ours, octets',
          'ours, text',
          'robots-parser',
          'ratio (goal)',
          'parse and first check',
          'startup-hold',
          'ratio (goal)',
        ],
        compared.flatMap(({ parse }) => (parse ? [parse] : [])),
      ),
      '',
      'One check against literal rules alone:',
      '',
      ...table(['rules', 'ours', 'robots-parser'], literalRules(ms / 4)),
      '',
      `Files of up to 500 KiB and URLs of 2 KB made to be slow, ms; one of the first checks also builds the index. Slowest decision: ${round(slowest, 1)} ms (goal ≤ 5, parse ≤ 20).`,
      '',
      ...table(['case', 'parse', 'first check', 'the one that prepares', 'each later', 'explain'], rows),
      ...(corpus ? ['', ...realFiles(corpus, short ? 5 : 60)] : []),
    ],
  }
}

if (import.meta.main) {
  const { name, lines } = await run({ short: process.argv.includes('--short') })
  console.log([`## ${name}`, '', ...lines].join('\n'))
}
