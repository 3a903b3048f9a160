/** Reads logs from disk, gzip or standard input: line by line, each in any of the known formats. */
import { openAudit } from '../judge/audit.ts'
import type { JudgeOptions } from '../judge/judged.ts'
import type { ClockStep, Evidence, RequestLine } from '../record.ts'
import type { LogLine, LogReport, Report, SetAside } from '../report.ts'
import { ClockWatch } from './clock.ts'
import { readCombined, type Shape } from './combined.ts'
import { readJson } from './json.ts'
import type { ReadLine, Reason } from './line.ts'
import { type Line, linesAt, readLines, textOf, UnreadableLogError } from './lines.ts'
import { type Fields, fieldsOf, readW3c } from './w3c.ts'

export { UnreadableLogError }

const EXAMPLES = 5
const EXAMPLE_CHARS = 200

type Sink = {
  /** @returns false when the origin is invalid */
  request(line: RequestLine, file: number, number: number): boolean
  body(hash: string, body: string | Uint8Array): void
}

type Reading = { setAside: SetAside; noRequest: number; logs: LogReport[]; clockSteps: ClockStep[]; requests: number }

/**
 * Judges logs. Lines that cannot be read are set aside and counted; the report may then say that part was not judged.
 * @param files  paths; '-' is standard input
 * @throws       UnreadableLogError when a file cannot be read, or when there is no request at all
 */
export async function auditLogs(files: string[], options: JudgeOptions & { origin?: string }): Promise<Report> {
  const audit = openAudit(options)
  const { setAside, noRequest, logs, clockSteps } = await readSome(files, options.origin, {
    request: (line, file, number) => audit.request(line, file, number),
    body: (hash, body) => audit.body(hash, body),
  })
  const report = audit.report({ clockSteps, files })
  Object.assign(report, { setAside, noRequest, logs } satisfies Partial<Report>)
  const odd = setAside.lines - (setAside.byReason.cut ?? 0)
  if (report.verdict === 'clean' && (odd > 0 || clockSteps.length > 0)) report.verdict = 'partly-judged'
  await addTexts(report)
  return report
}

/** 0 judged and clean · 1 violations · 4 clean, but part of it could not be judged. 2 (could not run) is an error. */
export const exitCodeOf = ({ verdict }: Report): 0 | 1 | 4 =>
  ({ clean: 0, violations: 1, 'partly-judged': 4 } as const)[verdict]

/** Reads logs into memory without judging them, for tools. @throws as `auditLogs` */
export const readLogs = (files: string[], origin?: string) => linesOf((sink) => readSome(files, origin, sink))

/** Reads the record of a site, which may be without requests. @throws UnreadableLogError when it cannot be read */
export const readRecord = (file: string): Promise<Evidence> => linesOf((sink) => readAll([file], undefined, sink))

async function linesOf(read: (sink: Sink) => Promise<Reading>): Promise<Evidence & Omit<Reading, 'requests'>> {
  const requests: RequestLine[] = []
  const once = oncePerText()
  const bodies = new Map<string, string | Uint8Array>()
  const reading = await read({
    request: (line) => requests.push({ ...line, origin: once(line.origin), agent: once(line.agent) }) > 0,
    body: (hash, body) => void bodies.set(hash, body),
  })
  return { ...reading, requests, bodies }
}

async function readAll(files: string[], origin: string | undefined, sink: Sink): Promise<Reading> {
  const reading: Reading = {
    setAside: { lines: 0, byReason: {}, examples: [] },
    noRequest: 0,
    logs: [],
    clockSteps: [],
    requests: 0,
  }
  for (const [index, file] of files.entries()) await readLog(file, index, origin, sink, reading)
  return reading
}

/** @throws UnreadableLogError when there is no request at all: probably the wrong files were given */
async function readSome(files: string[], origin: string | undefined, sink: Sink): Promise<Reading> {
  const reading = await readAll(files, origin, sink)
  if (reading.requests === 0) {
    const [first] = reading.setAside.examples
    const why = first === undefined ? '' : `; ${first.file}:${first.line}: ${first.why}`
    throw new UnreadableLogError(`${files.join(', ')}: no request in it, so there is nothing to judge${why}`)
  }
  return reading
}

async function readLog(
  file: string,
  index: number,
  origin: string | undefined,
  sink: Sink,
  reading: Reading,
): Promise<void> {
  const reader = new LineReader(origin)
  const formats = new Set<string>()
  const clock = new ClockWatch(file)
  const assumed = new Set<string>()
  let number = 0
  let requests = 0
  const setAside = (reason: Reason, why: string, text: string): void => {
    const { byReason, examples } = reading.setAside
    reading.setAside.lines++
    byReason[reason] = (byReason[reason] ?? 0) + 1
    if (examples.length < EXAMPLES)
      examples.push({ file, line: number, why, text: textOf(text).slice(0, EXAMPLE_CHARS) })
  }
  const cut = await readLines(file, (line) => {
    number++
    const read = reader.read(line)
    if (read.kind === 'odd') setAside(read.reason, read.why, line.text)
    else if (read.kind === 'no-request') reading.noRequest++
    else if (read.kind === 'robots')
      sink.body(read.line.hash, 'body' in read.line ? read.line.body : Buffer.from(read.line.base64, 'base64'))
    else if (read.kind === 'request') {
      const { line: request, format } = read
      if (!sink.request(request, index, number))
        return setAside('no-origin', `'${request.origin}' is no origin`, line.text)
      requests++
      if (format !== 'record' && request.resolution === undefined) clock.next(request.start, request.end, number)
      if (format === 'Apache' && line.text.includes(' -://')) assumed.add(ASSUMED_SCHEME)
      if (format.endsWith('whole seconds')) assumed.add(COARSE)
      formats.add(format)
    }
  })
  if (cut !== undefined) setAside('cut', cut, '')
  reading.requests += requests
  reading.clockSteps.push(...clock.steps)
  reading.logs.push({ file, format: [...formats].join(', '), requests, notes: [...clock.notes, ...assumed] })
}

const ASSUMED_SCHEME = 'the scheme is not in it (-://): http is assumed; --origin says otherwise'
const COARSE =
  'its times are whole seconds: a delay that is short by less than a second may be missed, and requests at once may count as a short delay (formats with milliseconds: docs/audit.md)'

class LineReader {
  readonly #origin: string | undefined
  #fields: Fields | undefined
  #shape: Shape | undefined

  constructor(origin: string | undefined) {
    this.#origin = origin
  }

  read({ text, whole, tooLong }: Line): ReadLine {
    if (tooLong) return { kind: 'odd', reason: 'too-long', why: 'a line of more than 4000000 characters' }
    if (text === '') return { kind: 'nothing' }
    if (text.startsWith('#')) {
      this.#fields = fieldsOf(text) ?? this.#fields
      return { kind: 'nothing' }
    }
    const read = this.#readAny(text)
    // A last line without a newline may be incomplete: its writer ended, or is still writing it.
    return whole || (read.kind !== 'odd' && this.#isComplete(text)) ? read : CUT
  }

  #readAny(text: string): ReadLine {
    if (text.startsWith('{')) return readJson(text, this.#origin)
    if (this.#fields !== undefined) return readW3c(text, this.#fields, this.#origin)
    const read = readCombined(text, this.#origin)
    this.#before = this.#shape
    if (read.shape !== undefined) this.#shape = read.shape
    return read
  }
  #before: Shape | undefined

  /** Whether a last line that could be parsed is complete: JSON is; a combined line is if it ends like the previous one. */
  #isComplete(text: string): boolean {
    if (text.startsWith('{')) return true
    if (this.#fields !== undefined || this.#shape === undefined) return false
    return this.#shape.endsQuoted && (this.#before === undefined || this.#before.fields === this.#shape.fields)
  }
}

const CUT: ReadLine = { kind: 'odd', reason: 'cut', why: 'the last line has no end: its writer had not finished it' }

const MAX_TEXTS = 100_000

/** Returns one string for equal texts: a million lines of a log name a few thousand origins and agents. */
function oncePerText(): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const first = known.get(text)
    if (first !== undefined) return first
    const copy = Buffer.from(text).toString() // a slice would keep the whole chunk that it was cut from
    if (known.size < MAX_TEXTS) known.set(copy, copy)
    return copy
  }
}

/** Reads the lines of the worst moments again, to show them. */
async function addTexts(report: Report): Promise<void> {
  const wanted: LogLine[] = report.worst.flatMap(({ line, after }) => (after === undefined ? [line] : [line, after]))
  for (const file of new Set(wanted.map((one) => one.file))) {
    const lines = wanted.filter((one) => one.file === file)
    const texts = await linesAt(file, new Set(lines.map(({ line }) => line)))
    for (const one of lines) {
      const text = texts.get(one.line)
      if (text !== undefined) one.text = text
    }
  }
}
