/** Exchanges in columns, some 60 bytes each besides their paths. Rows are in the order of input. */

import { asciiPath } from '../origin.ts'
import type { RequestLine } from '../record.ts'
import { Names } from './names.ts'
import { everyNumber, Numbers } from './numbers.ts'
import { Texts } from './texts.ts'

export const ROBOTS_PATH = '/robots.txt'
/** Longest time until a site notices that an agent has disconnected, ms, if its record does not give `late`. */
const LATE_MS = 25
const FIRST_ROWS = 256

/** `resolution`: how much later than recorded an exchange may have begun and ended; `late`: how much earlier it may have ended; ms. */
type Unsure = { resolution: number; late: number }
const CERTAIN: Unsure = { resolution: 0, late: 0 }

const CUT = 1
const GET = 2
const ROBOTS = 4

export class Exchanges {
  length = 0
  readonly #starts = { at: new Float64Array(FIRST_ROWS) }
  readonly #ends = { at: new Float64Array(FIRST_ROWS) }
  /** index of a row's uncertainty in the list below */
  readonly #unsure = new Numbers()
  readonly #unsureBy: Unsure[] = [CERTAIN]
  lane = new Uint32Array(FIRST_ROWS)
  status = new Uint16Array(FIRST_ROWS)
  line = new Uint32Array(FIRST_ROWS)
  file = new Uint16Array(FIRST_ROWS)
  /** offences found, one bit each */
  found = new Uint16Array(FIRST_ROWS)
  readonly #flags = { at: new Uint8Array(FIRST_ROWS) }
  readonly #paths = { at: new Uint32Array(FIRST_ROWS) }
  /** number of the text of Location (status 3xx) or Retry-After (all others), plus one; 0, or beyond the length: no header */
  readonly #headers = new Numbers()
  readonly #headerTexts = new Names()
  /** number of the body served; 0: unknown */
  body = new Uint32Array(FIRST_ROWS)
  readonly #texts = new Texts()
  /** number of the text of the site's own address, plus one; 0, or beyond the length: none */
  readonly #addresses = new Numbers()
  readonly #addressTexts = new Names()

  add(line: RequestLine, lane: number, body: number, file: number, number: number): void {
    const row = this.length
    if (row === this.lane.length) this.#grow()
    this.length++
    const { start, end, status, resolution = 0 } = line
    // An agent cannot disconnect before it has connected.
    const late = line.cut ? Math.min(line.late ?? LATE_MS, end - start) : 0
    this.#starts.at[row] = start
    this.#ends.at[row] = end
    if (resolution > 0 || late > 0) this.#setUnsure(row, { resolution, late })
    this.lane[row] = lane
    this.status[row] = status
    this.line[row] = number
    this.file[row] = file
    this.body[row] = body
    const isRobots = line.path === ROBOTS_PATH
    this.#flags.at[row] = (line.cut ? CUT : 0) | (line.method === 'GET' ? GET : 0) | (isRobots ? ROBOTS : 0)
    this.#paths.at[row] = isRobots ? 0 : this.#texts.add(asciiPath(line.path))
    const header = status >= 300 && status < 400 ? line.location : line.retryAfter
    if (header !== undefined) this.#headers.set(row, this.#headerTexts.numberOf(header) + 1)
    if (line.address !== undefined) this.#addresses.set(row, this.#addressTexts.numberOf(line.address) + 1)
  }

  /** Earliest and latest instant at which the request may have begun, ms. */
  startMin = (row: number): number => this.#starts.at[row] as number
  startMax = (row: number): number => this.startMin(row) + this.#unsureOf(row).resolution
  /** Earliest and latest instant at which the exchange may have ended. */
  endMin = (row: number): number => (this.#ends.at[row] as number) - this.#unsureOf(row).late
  endMax = (row: number): number => (this.#ends.at[row] as number) + this.#unsureOf(row).resolution

  path(row: number): string {
    return this.isRobots(row) ? ROBOTS_PATH : this.#texts.get(this.#paths.at[row] as number)
  }
  /** the Location of a 3xx answer, else the Retry-After */
  header(row: number): string | undefined {
    const name = this.#headers.get(row)
    return name === 0 ? undefined : this.#headerTexts.get(name - 1)
  }
  address(row: number): string | undefined {
    const name = this.#addresses.get(row)
    return name === 0 ? undefined : this.#addressTexts.get(name - 1)
  }
  isRobots = (row: number): boolean => ((this.#flags.at[row] as number) & ROBOTS) !== 0
  isGet = (row: number): boolean => ((this.#flags.at[row] as number) & GET) !== 0
  isCut = (row: number): boolean => ((this.#flags.at[row] as number) & CUT) !== 0

  /** All rows, sorted by start, then by end, then in the order of input. */
  inOrder(): Uint32Array {
    const { length } = this
    const rows = everyNumber(length)
    const before = (a: number, b: number): number =>
      this.startMin(a) - this.startMin(b) || this.endMax(a) - this.endMax(b) || a - b
    let sorted = true
    for (let row = 1; sorted && row < length; row++) sorted = before(row - 1, row) < 0
    return sorted ? rows : rows.sort(before)
  }

  #unsureOf = (row: number): Unsure => this.#unsureBy[this.#unsure.get(row)] as Unsure

  #setUnsure(row: number, unsure: Unsure): void {
    const last = this.#unsureBy.at(-1) as Unsure
    const isLast = last.resolution === unsure.resolution && last.late === unsure.late
    this.#unsure.set(row, isLast ? this.#unsureBy.length - 1 : this.#unsureBy.push(unsure) - 1)
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
    for (const column of [this.#starts, this.#ends]) column.at = larger(column.at, floats)
    for (const name of ['lane', 'line', 'body'] as const) this[name] = larger(this[name], words)
    for (const name of ['status', 'file', 'found'] as const) this[name] = larger(this[name], halves)
    this.#paths.at = larger(this.#paths.at, words)
    this.#flags.at = larger(this.#flags.at, (n) => new Uint8Array(n))
  }
}
