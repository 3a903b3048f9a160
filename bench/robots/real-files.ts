/**
 * Real robots.txt files by size class, ours against robots-parser and, where ROBOTSTXT_PARSER names a program, against
 * google/robotstxt. ROBOTS_CORPUS names the folder; the figures of the package's README are from scrapy/protego's test data.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseRobots, ROBOTS_MAX_BYTES } from '@decorum/robots'
import robotsParserModule from 'robots-parser'
import { median, round, table } from '../frame/figures.ts'
import { fastestMs } from './measure.ts'

type Robot = { isAllowed(url: string, agent: string): boolean | undefined }
const robotsParser = robotsParserModule as unknown as (url: string, text: string) => Robot

const ADDRESS = 'https://h.example/robots.txt'
const URL_ASKED = 'https://h.example/shop/item?x=1'
const AGENT = 'avocet'
const CLASSES: readonly [name: string, most: number][] = [
  ['≤ 1 KB', 1_024],
  ['1–6 KB', 6_144],
  ['6–30 KB', 30_720],
  ['30–60 KB', 61_440],
  ['60–500 KB', ROBOTS_MAX_BYTES],
]
const PER_CLASS = 50

type Measured = { hasRules: boolean; parse: number; first: number; match: number; google: number | undefined }

export function realFiles(folder: string, rounds: number): string[] {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    .filter(({ length }) => length > 0 && length <= ROBOTS_MAX_BYTES)
  const rows: string[][] = []
  let least = 0
  for (const [name, most] of CLASSES) {
    const own = files.filter(({ length }) => length > least && length <= most)
    least = most
    const chosen = own.filter((_, i) => i % Math.ceil(own.length / PER_CLASS) === 0)
    const google = googleParses(chosen)
    const measured = chosen.map((octets, i) => measure(octets, google?.[i], rounds))
    for (const [what, some] of [
      [name, measured],
      [`${name}, without rules`, measured.filter(({ hasRules }) => !hasRules)],
    ] as const)
      if (some.length > 0) rows.push([what, String(some.length), ...ratios(some)])
  }
  return [
    `Real files: up to ${PER_CLASS} of each size class of ${files.length}; each ratio is the median over the files, with the tenth and ninetieth part of a hundred in brackets. Fastest of ${rounds} rounds by turns.`,
    '',
    ...table(['class', 'files', 'parse', 'parse and first check', 'later checks', 'parse, of google/robotstxt'], rows),
  ]
}

function measure(octets: Buffer, google: number | undefined, rounds: number): Measured {
  const text = octets.toString()
  const ours = parseRobots(octets)
  const theirs = robotsParser(ADDRESS, text)
  const [parse, theirParse, first, theirFirst, match, theirMatch] = fastestMs(
    [
      () => parseRobots(octets),
      () => robotsParser(ADDRESS, text),
      () => parseRobots(octets).isAllowed(URL_ASKED, AGENT),
      () => robotsParser(ADDRESS, text).isAllowed(URL_ASKED, AGENT),
      () => ours.isAllowed(URL_ASKED, AGENT),
      () => theirs.isAllowed(URL_ASKED, AGENT),
    ],
    rounds,
  ) as [number, number, number, number, number, number]
  return {
    hasRules: /^[ \t]*(?:dis)?allow/im.test(text),
    parse: theirParse / parse,
    first: theirFirst / first,
    match: theirMatch / match,
    google: google === undefined ? undefined : google / parse,
  }
}

function ratios(measured: readonly Measured[]): string[] {
  return (['parse', 'first', 'match', 'google'] as const).map((key) => {
    const all = measured.flatMap((one) => one[key] ?? []).sort((a, b) => a - b)
    if (all.length === 0) return '–'
    const at = (share: number): string => round(all[Math.floor(share * (all.length - 1))] as number, 1)
    return `${round(median(all), 1)} × (${at(0.1)}–${at(0.9)})`
  })
}

/**
 * Milliseconds that google/robotstxt takes to parse each file: its program reads length (32 bits, little-endian) and bytes of
 * each file from stdin and prints nanoseconds, one line per file.
 */
function googleParses(files: readonly Buffer[]): number[] | undefined {
  const program = process.env.ROBOTSTXT_PARSER
  if (!program) return undefined
  const input = Buffer.concat(
    files.flatMap((octets) => {
      const length = Buffer.alloc(4)
      length.writeUInt32LE(octets.length)
      return [length, octets]
    }),
  )
  const { status, stdout } = spawnSync(program, ['--parse'], { input })
  if (status !== 0) throw new Error(`ROBOTSTXT_PARSER ended with ${status}`)
  return stdout
    .toString()
    .trim()
    .split('\n')
    .map((ns) => Number(ns) / 1e6)
}
