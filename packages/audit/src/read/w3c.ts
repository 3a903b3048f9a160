/** Parses the W3C extended format: a `#Fields:` line names the columns. CloudFront and IIS write it. */
import { CLOSED_BY_CLIENT, NO_REQUEST, odd, type ReadLine, requestOf, WHOLE_SECONDS } from './line.ts'
import { pathOf, textOf } from './lines.ts'

export type Fields = { at: Map<string, number>; separator: '\t' | ' ' }

/** @returns the columns of a `#Fields:` line */
export function fieldsOf(comment: string): Fields | undefined {
  const names = /^#Fields:\s*(.+)$/i.exec(comment)?.[1]
  if (names === undefined) return undefined
  const list = names.trim().split(/\s+/)
  // CloudFront separates its columns with tabs, IIS with blanks.
  const separator = list.includes('x-edge-location') || list.includes('x-edge-result-type') ? '\t' : ' '
  return { at: new Map(list.map((name, index) => [name.toLowerCase(), index])), separator }
}

export function readW3c(octets: string, { at, separator }: Fields, defaultOrigin: string | undefined): ReadLine {
  const values = octets.split(octets.includes('\t') ? '\t' : separator)
  if (values.length < at.size) return odd('unreadable', `${values.length} of ${at.size} columns of its #Fields`)
  const get = (...names: string[]): string | undefined => {
    for (const name of names) {
      const index = at.get(name)
      const value = index === undefined ? undefined : values[index]
      if (value !== undefined && value !== '-' && value !== '') return value
    }
    return undefined
  }
  const when = instantOf(get)
  if (when === undefined) return odd('no-times', 'neither date and time nor timestamp(ms) are usable')
  const taken = get('time-taken') ?? '0'
  // CloudFront writes seconds with a decimal point, IIS whole ms.
  const took = Number(taken) * (taken.includes('.') ? 1_000 : 1)
  const query = get('cs-uri-query')
  const stem = get('cs-uri-stem') ?? ''
  const method = get('cs-method')
  if (method === undefined || stem === '') return NO_REQUEST
  const host = get('x-host-header', 'cs(host)', 'cs-host', 's-computername')
  const scheme = get('cs-protocol', 'x-forwarded-proto') ?? (get('s-port') === '443' ? 'https' : 'http')
  const port = get('s-port')
  const named = host === undefined || host.includes(':') || port === undefined ? host : `${host}:${port}`
  return requestOf({
    origin: named === undefined ? defaultOrigin : `${scheme}://${named}`,
    agent: textOf(unquoted(get('cs(user-agent)') ?? '', separator)),
    method,
    target: pathOf(query === undefined ? stem : `${stem}?${query}`),
    start: when.at - took,
    end: when.at,
    // CloudFront's 000: the client closed the connection before the answer.
    status: get('sc-status') === '000' ? CLOSED_BY_CLIENT : Number(get('sc-status') ?? Number.NaN),
    retryAfter: undefined,
    location: get('sc(location)', 'cs(location)'),
    ...(when.exact ? {} : { resolution: WHOLE_SECONDS }),
    format: when.exact ? 'W3C extended' : 'W3C extended, whole seconds',
  })
}

function instantOf(get: (name: string) => string | undefined): { at: number; exact: boolean } | undefined {
  const ms = get('timestamp(ms)')
  if (ms !== undefined && Number.isFinite(Number(ms))) return { at: Number(ms), exact: true }
  const [date, time] = [get('date'), get('time')]
  const at = date === undefined || time === undefined ? Number.NaN : Date.parse(`${date}T${time}Z`)
  return Number.isNaN(at) ? undefined : { at, exact: /\.\d{3}/.test(time ?? '') }
}

/** CloudFront percent-encodes characters that would break a column (twice if already encoded); IIS writes + for a blank. */
function unquoted(value: string, separator: Fields['separator']): string {
  if (separator === ' ') return value.replaceAll('+', ' ')
  return value.replace(/%(?:25)?([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
