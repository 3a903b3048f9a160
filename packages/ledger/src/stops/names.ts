/** Parses the name of a stop: a host or an address, which also covers every name below it. */
import { isIPv4, isIPv6 } from 'node:net'
import { readUrl } from '@decorum/protocol'
import { StopError } from './record.ts'

/**
 * Reads a domain, a host, an address, or any URL with one.
 * @returns the name under which it is kept: lower case, punycode; an IPv6 address in brackets
 * @throws  StopError that says what is wrong
 */
export function readStopName(text: string): string {
  const given = text.trim()
  const shown = JSON.stringify(given.slice(0, 100))
  if (isIPv6(given)) return nameOfAddress(given)
  if (/^[\da-f.:]+\/\d+$/i.test(given))
    throw new StopError(`${shown} is a range of addresses: name the addresses, or a domain`)
  const isUrl = /^https?:\/\//i.test(given)
  if (!isUrl && /[/\\?#@\s]|:\d*$/.test(given))
    throw new StopError(`${shown} is not a host: name it without path and port, or give a whole URL`)
  const read = readUrl(isUrl ? given : `http://${given.replace(/^\*\./, '')}/`)
  if ('refused' in read) throw new StopError(`${shown} is neither a host, nor an address, nor a URL (${read.refused})`)
  const { host } = read
  if (isIPv4(host) && !isUrl && given.replace(/\.$/, '') !== host)
    throw new StopError(`${shown} would be read as the address ${host}: write ${host} if you mean that address`)
  return host.startsWith('[') ? nameOfAddress(host.slice(1, -1)) : host
}

/** An address as the name of a stop: `[2001:db8::1]`; an IPv4 address written as an IPv6 one becomes IPv4. */
export function nameOfAddress(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!isIPv6(plain)) return plain
  const canonical = URL.parse(`http://[${plain}]/`)?.hostname ?? `[${plain}]`
  const [, high = '', low = ''] = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(canonical) ?? []
  if (high === '') return canonical
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [a >> 8, a & 255, b >> 8, b & 255].join('.')
}

/** The names by which a host may be stopped: itself, and every name above it. */
export function namesAbove(host: string): string[] {
  if (host.startsWith('[') || isIPv4(host)) return [host]
  const labels = host.split('.')
  return labels.map((_, at) => labels.slice(at).join('.'))
}
