/**
 * Compares verdict and line under profile `google` with google/robotstxt's own, over real and generated files.
 *
 *   node test/robots/compare/google.ts --binary PATH [--corpus FOLDER] [--generated FILES] [--seed N] [--per-file BYTES] [--show N]
 *
 * What the binary is: reference-process.ts. Files over 500 KiB are cut for it first, as a crawler does; Google's library
 * leaves that to its caller. Two differences are meant and counted apart: `/robots.txt` itself is always allowed here, and
 * at most 20,000 rules of a file count. Exit code 1 when any other difference is found.
 */
import { parseArgs } from 'node:util'
import { parseRobots, policies, ROBOTS_MAX_BYTES } from '@decorum/robots'
import { corpusProbes } from './corpus-probes.ts'
import { generatedProbes } from './generated-probes.ts'
import { type Answer, type Probe, startReference } from './reference-process.ts'

const { values } = parseArgs({
  options: {
    binary: { type: 'string' },
    corpus: { type: 'string' },
    generated: { type: 'string', default: '0' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    'per-file': { type: 'string', default: '150000000' },
    show: { type: 'string', default: '20' },
  },
})
if (!values.binary || (!values.corpus && values.generated === '0')) {
  console.error('usage: node test/robots/compare/google.ts --binary PATH [--corpus FOLDER] [--generated FILES]')
  process.exit(2)
}
const show = Number(values.show)

function* probes(): Generator<Probe> {
  if (values.corpus) yield* corpusProbes(values.corpus, Number(values['per-file']))
  yield* generatedProbes(Number(values.seed), Number(values.generated))
}

/** The file as a crawler keeps it: whole lines of the first 500 KiB. */
function cut(body: Uint8Array): Uint8Array {
  const isEnd = (at: number): boolean => body[at] === 10 || body[at] === 13
  if (body.length <= ROBOTS_MAX_BYTES) return body
  let end = ROBOTS_MAX_BYTES
  if (!isEnd(end)) while (end > 0 && !isEnd(end - 1)) end--
  return body.subarray(0, end)
}

const differences = { verdict: 0, line: 0, 'robots.txt': 0, 'over 20,000 rules': 0 }
const touched = new Set<string>()

function compare(probe: Probe, answers: readonly Answer[]): void {
  const rules = parseRobots(probe.body, { policy: policies.google })
  const full = rules.warnings.some(({ kind }) => kind === 'too-many-rules')
  let i = 0
  for (const agent of probe.agents)
    for (const url of probe.urls) {
      const theirs = answers[i++] as Answer
      const { allowed, why, rule } = rules.decide(url, agent)
      const line = rule?.line ?? 0
      if (allowed === theirs.allowed && line === theirs.line && rules.isAllowed(url, agent) === allowed) continue
      touched.add(probe.name)
      const kind =
        why === 'robots.txt'
          ? 'robots.txt'
          : full
            ? 'over 20,000 rules'
            : allowed === theirs.allowed
              ? 'line'
              : 'verdict'
      if (++differences[kind] <= show)
        console.log(
          `${kind}: ${probe.name}\n  ${agent} ${url}\n  ours ${allowed} line ${line}, google ${theirs.allowed} line ${theirs.line}`,
        )
    }
}

console.log(`seed ${values.seed}`)
const reference = startReference(values.binary)
let files = 0
let asked = 0
for (const probe of probes()) {
  compare(probe, await reference.ask({ ...probe, body: cut(probe.body) }))
  files++
  asked += probe.agents.length * probe.urls.length
}
reference.close()
console.log(JSON.stringify({ files, probes: asked, differences, filesThatDiffer: touched.size }))
process.exitCode = differences.verdict + differences.line > 0 ? 1 : 0
