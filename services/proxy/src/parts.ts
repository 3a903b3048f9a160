/** What each request works with. */

import type { Reporter } from '@decorum/sending'
import type { GrantingTools, Lines } from '@decorum/sending/granting'
import type { LaneConnections } from '@decorum/sending/http'
import type { Authority } from './authority.ts'
import type { Client } from './client.ts'
import type { ProxyConfig } from './config.ts'
import type { Places } from './places.ts'
import type { Tally } from './tally.ts'

export type Parts = {
  config: ProxyConfig
  tools: GrantingTools
  lines: Lines
  places: Places
  connections: LaneConnections
  reporter: Reporter
  tally: Tally
  /** reads a Proxy-Authorization; throws Problem */
  clientOf: (authorization: string | undefined) => Client
  /** by which HTTPS is looked into; undefined: it is not */
  authority: Authority | undefined
  /** of this process, in Via: by it a loop is noticed */
  name: string
}
