/** Explains a refusal by Redis, TLS or the network to the person who set the fleet up: the original reason, and what to do. */
import { ENCODE } from './redis-address.ts'

type Rule = { of: RegExp; reason?: string; todo: (place: string) => string }

const LOGIN = (place: string): string =>
  `write REDIS_URL as redis://user:password@${place} (:password without a user); ${ENCODE}`

const ARROW = ' → '

/** The first match counts. `reason` replaces a reason that is long or comes from the library. */
const RULES: readonly Rule[] = [
  { of: /^NOAUTH/, reason: 'NOAUTH Authentication required', todo: LOGIN },
  { of: /^WRONGPASS/, todo: LOGIN },
  {
    of: /NOPERM/,
    todo: () => 'the fleet needs every key, channel and command: ACL SETUSER <user> ~* &* +@all (docs/cluster.md)',
  },
  {
    of: /max(imum)? number of (\w+ )?clients/,
    todo: () =>
      'raise maxclients of Redis (redis-cli CONFIG SET maxclients …) and its open files, or run fewer processes',
  },
  {
    of: /^DENIED/,
    reason: 'DENIED: Redis runs in protected mode, for its own machine alone',
    todo: () => 'give it a password (requirepass) or a user, and write them into REDIS_URL',
  },
  {
    of: /DB index is out of range/,
    todo: () =>
      'the number behind the last / of REDIS_URL is too high for this server (redis-cli CONFIG GET databases)',
  },
  {
    of: /cluster support disabled/,
    todo: () => 'REDIS_URL names a cluster, and this is one server: name only one, and leave ?cluster away',
  },
  {
    of: /unknown command '(?:sentinel)'/i,
    todo: () => 'this server is not a Sentinel: a Sentinel usually listens on port 26379, Redis on 6379',
  },
  { of: /ERR No such master/i, todo: () => 'the name behind the last / of REDIS_URL is the one in sentinel.conf' },
  {
    of: /^(ERR \S+-)?READONLY/,
    todo: () => 'this is a replica: name its master in REDIS_URL, or ask Sentinel (sentinel://)',
  },
  {
    of: /MISCONF/,
    todo: () => 'Redis cannot write its files: look at the free space and the owner of its data folder',
  },
  { of: /^LOADING/, todo: () => 'it reads its files: wait' },
  { of: /^CLUSTERDOWN/, todo: () => 'slots of the cluster have no master: redis-cli --cluster check' },
  {
    of: /alert certificate required|alert handshake failure/,
    reason: 'TLS: the server wants a client certificate',
    todo: (place) => `write REDIS_URL as rediss://…@${place}?ca=…&cert=…&key=… (paths of PEM files)`,
  },
  {
    of: /self-signed certificate|unable to (verify|get)/,
    reason: 'TLS: the certificate of the server is of an unknown authority',
    todo: (place) => `write REDIS_URL as rediss://…@${place}?ca=… (path of its PEM file)`,
  },
  { of: /certificate has expired/, todo: () => 'renew the certificate of the server' },
  {
    of: /does not match certificate's altnames/,
    todo: () => 'name the host as the certificate does, or say that name: rediss://…?servername=…',
  },
  { of: /speaks TLS alone/, todo: (place) => `write REDIS_URL as rediss://…@${place}` },
  {
    of: /wrong version number|packet length too long/,
    reason: 'TLS: the server speaks no TLS',
    todo: (place) => `write REDIS_URL as redis://…@${place}`,
  },
  { of: /^Unknown RESP type/, reason: 'what answers there is no Redis', todo: () => 'look at the port in REDIS_URL' },
  { of: /ECONNREFUSED/, todo: () => 'nothing listens there: start Redis, or write REDIS_URL with its host and port' },
  { of: /ENOTFOUND|EAI_AGAIN/, todo: () => 'the host in REDIS_URL cannot be looked up' },
  {
    of: /connect ENOENT/,
    todo: () => 'there is no such socket: start Redis with unixsocket, or write its path into REDIS_URL',
  },
  { of: /connect EACCES/, todo: () => 'this user may not use the socket: unixsocketperm 770, and a group of both' },
  {
    of: /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/,
    todo: () => 'no way leads to that machine: look at the host in REDIS_URL, at routes and firewalls',
  },
]

/**
 * The reason, followed by what to do if that is known.
 * @param place  host:port, for a corrected REDIS_URL
 */
export function explainRefusal(message: string, place = 'host:6379'): string {
  if (message.includes(ARROW)) return message // already explained
  const rule = RULES.find(({ of }) => of.test(message))
  return rule === undefined ? message : `${rule.reason ?? message.trim().replace(/\.$/, '')}${ARROW}${rule.todo(place)}`
}

/** Whether there is an explanation of a message. */
export const isExplained = (message: string): boolean => RULES.some(({ of }) => of.test(message))
