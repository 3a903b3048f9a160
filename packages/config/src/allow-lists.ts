/**
 * Parses lists in settings, separated by commas or blanks: addresses and ranges, ports, DNS servers. No other code parses them, so no two
 * processes can understand one list differently.
 */
import { Resolver } from 'node:dns'
import { BlockList, isIP } from 'node:net'

export type AddressRange = { address: string; bits: number; family: 'ipv4' | 'ipv6' }

export const entriesOf = (text: string): string[] => text.split(/[\s,]+/).filter((entry) => entry !== '')

/** @throws Error naming the entry when it is neither an address nor a range (CIDR) */
export function addressRange(entry: string): AddressRange {
  const [address = '', length, ...more] = entry.split('/')
  const family = isIP(address)
  const most = family === 6 ? 128 : 32
  const bits = length === undefined ? most : Number(length)
  const isRange = family !== 0 && more.length === 0 && (length === undefined || /^\d{1,3}$/.test(length))
  if (!isRange || bits > most || address.includes('%'))
    throw new Error(`'${entry}' is neither an address nor a range such as 127.0.0.0/8`)
  return { address, bits, family: most === 128 ? 'ipv6' : 'ipv4' }
}

/**
 * The set of addresses that a list of addresses and ranges opens. An IPv4 address written inside IPv6
 * (`::ffff:127.0.0.1`) is that IPv4 address.
 * @throws Error naming the first entry that is neither an address nor a range
 */
export function addressSet(entries: readonly string[]): { has(address: string): boolean } {
  const ranges = new BlockList()
  for (const { address, bits, family } of entries.map(addressRange)) ranges.addSubnet(address, bits, family)
  return {
    has(address) {
      const family = isIP(address)
      return family !== 0 && ranges.check(address, family === 6 ? 'ipv6' : 'ipv4')
    },
  }
}

/** @throws Error naming the entry when it is not a port */
export function portNumber(entry: string): number {
  const port = Number(entry)
  if (!/^\d{1,5}$/.test(entry) || port > 65_535) throw new Error(`'${entry}' is not a port`)
  return port
}

/** @throws Error naming the first entry that is not the address of a DNS server */
export function dnsServers(text: string): string[] {
  return entriesOf(text).map((entry) => {
    try {
      new Resolver().setServers([entry])
      return entry
    } catch {
      throw new Error(`'${entry}' is not the address of a DNS server such as 192.0.2.53 or [2001:db8::53]:5353`)
    }
  })
}

/** Names and literals that lead only to this machine. An IPv6 literal may come with or without brackets. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  return bare === 'localhost' || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare)
}
