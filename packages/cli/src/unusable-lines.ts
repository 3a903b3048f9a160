/**
 * Lines of a list that cannot be requested, such as `example.com/x`. A missing scheme is not guessed
 * (docs/decisions/0033-octets-become-text.md): the line ends as `invalid`, and the user gets a hint how to write it.
 */
import { printable, readUrl } from '@decorum/protocol'
import type { Line } from './lines.ts'
import { some } from './say.ts'

const HOST_FIRST =
  /^(?:\/\/)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]*\p{L}[\p{L}\p{N}-]*\.?|(?:\d{1,3}\.){3}\d{1,3}|localhost)(?::(\d{1,5}))?(?:[/?#]|$)/iu
/** IPv4 addresses and localhost, which seldom have a certificate. */
const WITHOUT_TLS = /^(?:[\d.]+|localhost)$/i

/** The probable URL; undefined: adding a scheme gives no URL. */
export function withScheme(text: string): string | undefined {
  const [found, host = '', port = ''] = HOST_FIRST.exec(text.slice(0, 512)) ?? []
  if (found === undefined) return undefined
  const isPlain = port === '' ? WITHOUT_TLS.test(host) : port !== '443'
  return `${isPlain ? 'http' : 'https'}://${text.replace(/^\/\//, '')}`
}

const shown = (text: string): string => printable(text.slice(0, 200))

/** Why a text cannot be requested, and the URL that is probably meant; undefined: it can be requested. */
export function refusalOf(text: string): string | undefined {
  const at = readUrl(text)
  if (!('refused' in at)) return undefined
  const meant = withScheme(text)
  return `'${shown(text)}' cannot be requested: ${at.refused}${meant === undefined ? '' : `; a scheme is missing: write ${shown(meant)}`}`
}

const NAMED = 3

export class UnusableLines {
  #count = 0
  readonly #first: string[] = []

  /** @returns whether the line can be requested */
  check({ number, text }: Line): boolean {
    const refusal = refusalOf(text)
    if (refusal === undefined) return true
    if (this.#count++ < NAMED) this.#first.push(`  line ${number}: ${refusal}`)
    return false
  }

  /** A report of the unusable lines; undefined: every line can be requested. */
  sentence(): string | undefined {
    if (this.#count === 0) return undefined
    const lines = some(this.#count, 'line ends as invalid', 'lines end as invalid')
    const head = this.#count > NAMED ? `${lines}; the first ${NAMED}:` : `${lines}:`
    return [head, ...this.#first].join('\n')
  }
}
