/**
 * Decides which addresses may be connected to. URLs and DNS answers come from outside, so an address is judged three times: in the URL, in
 * every answer of a look-up, and on the connected socket (dial.ts). An address that is not known to be public unicast is refused.
 */
import { isIP } from 'node:net'
import { addressSet, portNumber } from '@decorum/config'
import ipaddr from 'ipaddr.js'

/** The address is not public. Final: a retry would not help. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError'
  readonly code = 'ERR_BLOCKED_ADDRESS'
  constructor(address: string, host: string) {
    super(
      host === address
        ? `${address} is not a public address`
        : `${host} is at ${address}, which is not a public address`,
    )
  }
}

/** The port belongs to another protocol. Final. */
export class BlockedPortError extends Error {
  override readonly name = 'BlockedPortError'
  readonly code = 'ERR_BLOCKED_PORT'
  constructor(port: number) {
    super(`port ${port} is refused: it belongs to another protocol`)
  }
}

/** A public address, but the agent gives no contact to complain to. Final for this agent. */
export class NoContactError extends Error {
  override readonly name = 'NoContactError'
  readonly code = 'ERR_NO_CONTACT'
  constructor(address: string) {
    super(`${address} is not opened by DECORUM_ALLOW_ADDRESSES, and the agent has no contact`)
  }
}

export type AddressKind = 'public' | 'opened' | 'guarded'

export type AddressGuard = ReturnType<typeof addressGuard>

/** Ports of the WHATWG fetch standard ("bad port"), then databases, brokers and daemons that an HTTP request could give commands to. */
const REFUSED_PORTS = new Set([
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109],
  ...[
    110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
  ],
  ...[532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060],
  ...[5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],
  ...[445, 873, 1433, 1521, 1883, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 4222, 4369, 5432, 5671, 5672, 5900, 5984],
  ...[
    6379, 6380, 7000, 7001, 8086, 9042, 9092, 9200, 9300, 10250, 11211, 16379, 26379, 27017, 27018, 27019, 50000, 61616,
  ],
])

/**
 * Public unicast by the registries, but no sites: inside one cloud these lead to the cloud's own services, which trust every caller.
 * Services at private and link-local addresses (169.254.169.254, 100.100.100.200, fd00:ec2::254 …) are guarded together with those ranges.
 * An operator who needs one of them opens it with DECORUM_ALLOW_ADDRESSES.
 */
const CLOUD_RANGES = [
  '168.63.129.16/32', //       Azure: WireServer, DNS, DHCP ("What is IP address 168.63.129.16?", learn.microsoft.com)
  '161.26.0.0/16', //          IBM Cloud: resolvers and other infrastructure services, private network only (cloud.ibm.com/docs)
  '166.8.0.0/14', //           IBM Cloud: private service endpoints (cloud.ibm.com/docs, e.g. atracker-endpoints)
  '199.36.153.4/30', //        Google: restricted.googleapis.com, not announced to the internet
  '199.36.153.8/30', //        Google: private.googleapis.com, likewise (cloud.google.com/vpc/docs/configure-private-google-access)
  '2600:2d00:2:1000::/64', //  Google: restricted.googleapis.com
  '2600:2d00:2:2000::/64', //  Google: private.googleapis.com
]
const CLOUD_INTERNAL = addressSet(CLOUD_RANGES)

/** The range of all public IPv6 addresses (RFC 4291 §2.4, IANA). */
const GLOBAL_UNICAST = '2000::/3'

/** The guarded ranges in the form that a firewall uses: in each family everything in `cidr` but `except` is public. */
export function firewallRanges(): { cidr: string; except: string[] }[] {
  // ipaddr.js has these ranges, but its types do not. A name has one pair of address and bits, or a list of pairs.
  const except = ({ prototype }: { prototype: object }): string[] =>
    Object.values((prototype as { SpecialRanges: Record<string, unknown[]> }).SpecialRanges).flatMap((some) =>
      (Array.isArray(some[0]) ? some : [some]).map((pair) =>
        (pair as [ipaddr.IPv4 | ipaddr.IPv6, number]).map(String).join('/'),
      ),
    )
  const v6 = ipaddr.parseCIDR(GLOBAL_UNICAST) as [ipaddr.IPv6, number]
  const isInside = (range: string): boolean => (ipaddr.parseCIDR(range)[0] as ipaddr.IPv6).match(v6)
  const cloud = (kind: string): string[] => CLOUD_RANGES.filter((range) => ipaddr.parseCIDR(range)[0].kind() === kind)
  return [
    { cidr: '0.0.0.0/0', except: [...except(ipaddr.IPv4), ...cloud('ipv4')] },
    { cidr: GLOBAL_UNICAST, except: [...except(ipaddr.IPv6).filter(isInside), ...cloud('ipv6')] },
  ]
}

/** Number of addresses cached per guard: limited, because hostile DNS servers can produce any number. */
const REMEMBERED = 10_000

/**
 * @param ranges  CIDRs or single addresses exempt from the guard (DECORUM_ALLOW_ADDRESSES)
 * @param ports   ports exempt from the refused ones (DECORUM_ALLOW_PORTS)
 * @throws        Error naming the entry that is no CIDR or no port
 */
export function addressGuard(ranges: readonly string[], ports: readonly string[] = []) {
  const opened = addressSet(ranges)
  const openPorts = new Set(ports.map(portNumber))
  const known = new Map<string, AddressKind>()
  const judge = (address: string): AddressKind => {
    const seen = known.get(address)
    if (seen !== undefined) return seen
    const kind = judgeAddress(address, opened)
    if (known.size >= REMEMBERED) known.clear()
    known.set(address, kind)
    return kind
  }
  return {
    judge,
    /** The opened ranges as written, for the log line at start. */
    opened: [...ranges],
    /** The reason why nothing may be sent to an address, or undefined. `host` is for the message. */
    refuse(address: string, host: string, hasContact: boolean): Error | undefined {
      const kind = judge(address)
      if (kind === 'guarded') return new BlockedAddressError(address, host)
      return kind === 'public' && !hasContact ? new NoContactError(address) : undefined
    },
    refusePort: (port: number): Error | undefined =>
      REFUSED_PORTS.has(port) && !openPorts.has(port) ? new BlockedPortError(port) : undefined,
  }
}

function judgeAddress(text: string, opened: ReturnType<typeof addressSet>): AddressKind {
  const zone = text.indexOf('%')
  const bare = zone < 0 ? text : text.slice(0, zone)
  // net.isIP comes first: ipaddr.js also reads octal, hexadecimal and short forms, which the system resolves differently.
  if (isIP(bare) === 0) return 'guarded'
  const address = ipaddr.process(bare) // unwraps ::ffff:a.b.c.d
  const isOpened = opened.has(address.toString())
  if (address.kind() === 'ipv6') {
    const inner = embeddedIPv4(address as ipaddr.IPv6)
    // NAT64: opening its prefix does not open the IPv4 addresses behind it.
    if (inner !== undefined) return isOpened ? judgeAddress(inner, opened) : 'guarded'
  }
  if (isOpened) return 'opened'
  if (zone >= 0 || address.range() !== 'unicast' || CLOUD_INTERNAL.has(address.toString())) return 'guarded'
  // ipaddr.js also calls the unassigned rest of IPv6 unicast.
  return address.kind() === 'ipv4' || address.match(ipaddr.parseCIDR(GLOBAL_UNICAST)) ? 'public' : 'guarded'
}

/** The IPv4 address inside 64:ff9b::/96 (RFC 6052). Other embedding forms are refused as a whole. */
function embeddedIPv4(address: ipaddr.IPv6): string | undefined {
  if (address.range() !== 'rfc6052') return undefined
  const [high = 0, low = 0] = address.parts.slice(6)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}
