/**
 * The robots state of an origin as it is stored. Nearly all origins have a robots.txt that was always answered well: that state takes some
 * fifty bytes, which Redis keeps in a compact hash (up to 64 per field). Every other state is JSON.
 */
import { type RobotsState, unknownOrigin } from '@decorum/robots'

const HASH = /^[0-9a-f]{32}$/

/** Usually kind, status, instant, jitter in thousandths, age of the first answer, number of answers, hash of the body; else JSON. */
export function writeState(state: RobotsState): string {
  const { answer, copy, first } = state
  if (answer !== undefined && copy !== undefined && first !== undefined && HASH.test(copy.hash)) {
    const { kind, status = 0, at } = answer
    const jitter = Math.floor(answer.jitter * 1_000) // a share of a delay need not be more exact
    const numbers = [at, jitter, at - first.at, first.count].map((n) => n.toString(36))
    const text = [kind, status, ...numbers, Buffer.from(copy.hash, 'hex').toString('base64url')].join(' ')
    const rounded: RobotsState = { ...state, answer: { ...answer, jitter: jitter / 1_000 } }
    if (isSame(parse(text), rounded)) return text
  }
  return JSON.stringify(state)
}

function parse(text: string): RobotsState {
  if (text.startsWith('{')) return JSON.parse(text) as RobotsState
  const [kind, status, at, jitter, age, count, body] = text.split(' ') as [
    'ok',
    ...[string, string, string, string, string, string],
  ]
  const now = Number.parseInt(at, 36)
  const hash = Buffer.from(body, 'base64url').toString('hex')
  return {
    answer: { kind, at: now, status: Number(status), jitter: Number.parseInt(jitter, 36) / 1_000 },
    copy: { kind, hash, at: now },
    heard: { [kind]: { at: now, since: 0 } },
    first: { at: now - Number.parseInt(age, 36), count: Number.parseInt(count, 36) },
  }
}

/** Whether two values are equal in JSON, in any order of fields. */
function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const [mine, theirs] = [a, b].map((one) => Object.entries(one).filter(([, value]) => value !== undefined))
  if (mine === undefined || theirs === undefined || mine.length !== theirs.length) return false
  const others = new Map(theirs)
  return mine.every(([name, value]) => others.has(name) && isSame(value, others.get(name)))
}

/** Cache by text, because the same states are read with each reservation. */
const parsedStates = new Map<string, RobotsState>()
const MAX_PARSED_STATES = 20_000

/** @param text  from `writeState`, or '' when nothing is known */
export function readState(text: string): RobotsState {
  if (text === '') return unknownOrigin
  const known = parsedStates.get(text)
  if (known !== undefined) return known
  const state = parse(text)
  if (parsedStates.size >= MAX_PARSED_STATES) parsedStates.clear()
  parsedStates.set(text, state)
  return state
}

/** Adds the robots fetch in flight, which is stored beside the state, where the scripts can read it. An expired one is left out. */
export function withRobotsFetch(state: RobotsState, fence: string, until: string, now: number): RobotsState {
  return fence === '' || Number(until) <= now
    ? state
    : { ...state, question: { fence: Number(fence), until: Number(until) } }
}
