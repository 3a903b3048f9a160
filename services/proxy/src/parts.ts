/** Dependencies of each request. */

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
  /** inspects HTTPS; undefined: HTTPS is not inspected */
  authority: Authority | undefined
  /** name of this process in Via, which reveals loops */
  name: string
}
