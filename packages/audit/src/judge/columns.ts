/** Exchanges in columns: a million of them in some 60 bytes each and their paths. Rows are in the order they were read. */

import { asciiPath } from '../origin.ts'
import type { RequestLine } from '../record.ts'
import { Texts } from './texts.ts'

export const ROBOTS_PATH = '/robots.txt'
/** How late at most a site notices that an agent has gone, ms, where its record does not say. */
const LATE_MS = 25
const FIRST_ROWS = 256

const CUT = 1
const GET = 2
const ROBOTS = 4

export class Exchanges {
  length = 0
  /** earliest and latest instant at which the request may have begun, ms */
  startMin = new Float64Array(FIRST_ROWS)
  startMax = new Float64Array(FIRST_ROWS)
  /** earliest and latest instant at which the exchange may have ended */
  endMin = new Float64Array(FIRST_ROWS)
  endMax = new Float64Array(FIRST_ROWS)
  lane = new Uint32Array(FIRST_ROWS)
  status = new Uint16Array(FIRST_ROWS)
  line = new Uint32Array(FIRST_ROWS)
  file = new Uint16Array(FIRST_ROWS)
  /** offences found, a bit each */
  found = new Uint16Array(FIRST_ROWS)
  readonly #flags = { at: new Uint8Array(FIRST_ROWS) }
  readonly #paths = { at: new Uint32Array(FIRST_ROWS) }
  /** Location or Retry-After, whichever the status asks for */
  readonly #headers = { at: new Uint32Array(FIRST_ROWS) }
  /** number of the body served; 0: none is known */
  body = new Uint32Array(FIRST_ROWS)
  readonly #texts = new Texts()
  readonly #addresses = new Map<number, string>()

  add(line: RequestLine, lane: number, body: number, file: number, number: number): void {
    const row = this.length
    if (row === this.startMin.length) this.#grow()
    this.length++
    const { start, end, status, resolution = 0 } = line
    // An agent cannot have gone before it came.
    const late = line.cut ? Math.min(line.late ?? LATE_MS, end - start) : 0
    this.startMin[row] = start
    this.startMax[row] = start + resolution
    this.endMin[row] = end - late
    this.endMax[row] = end + resolution
    this.lane[row] = lane
    this.status[row] = status
    this.line[row] = number
    this.file[row] = file
    this.body[row] = body
    const isRobots = line.path === ROBOTS_PATH
    this.#flags.at[row] = (line.cut ? CUT : 0) | (line.method === 'GET' ? GET : 0) | (isRobots ? ROBOTS : 0)
    this.#paths.at[row] = isRobots ? 0 : this.#texts.add(asciiPath(line.path))
    const header = status >= 300 && status < 400 ? line.location : line.retryAfter
    this.#headers.at[row] = header === undefined ? 0 : this.#texts.add(header)
    if (line.address !== undefined) this.#addresses.set(row, line.address)
  }

  path(row: number): string {
    return this.isRobots(row) ? ROBOTS_PATH : this.#texts.get(this.#paths.at[row] as number)
  }
  /** the Location of a 3xx answer, else the Retry-After */
  header(row: number): string | undefined {
    const at = this.#headers.at[row] as number
    return at === 0 ? undefined : this.#texts.get(at)
  }
  address = (row: number): string | undefined => this.#addresses.get(row)
  isRobots = (row: number): boolean => ((this.#flags.at[row] as number) & ROBOTS) !== 0
  isGet = (row: number): boolean => ((this.#flags.at[row] as number) & GET) !== 0
  isCut = (row: number): boolean => ((this.#flags.at[row] as number) & CUT) !== 0

  /** Rows by start, then by end, then as read. */
  inOrder(): Uint32Array {
    const { startMin: start, endMax: end, length } = this
    const rows = Uint32Array.from({ length }, (_, row) => row)
    const before = (a: number, b: number): number =>
      (start[a] as number) - (start[b] as number) || (end[a] as number) - (end[b] as number) || a - b
    let sorted = true
    for (let row = 1; sorted && row < length; row++) sorted = before(row - 1, row) < 0
    return sorted ? rows : rows.sort(before)
  }

  #grow(): void {
    const larger = <A extends { length: number; set(from: A): void }>(from: A, make: (length: number) => A): A => {
      const to = make(from.length * 2)
      to.set(from)
      return to
    }
    const floats = (n: number): Float64Array<ArrayBuffer> => new Float64Array(n)
    const words = (n: number): Uint32Array<ArrayBuffer> => new Uint32Array(n)
    const halves = (n: number): Uint16Array<ArrayBuffer> => new Uint16Array(n)
    for (const name of ['startMin', 'startMax', 'endMin', 'endMax'] as const) this[name] = larger(this[name], floats)
    for (const name of ['lane', 'line', 'body'] as const) this[name] = larger(this[name], words)
    for (const name of ['status', 'file', 'found'] as const) this[name] = larger(this[name], halves)
    for (const column of [this.#paths, this.#headers]) column.at = larger(column.at, words)
    this.#flags.at = larger(this.#flags.at, (n) => new Uint8Array(n))
  }
}
