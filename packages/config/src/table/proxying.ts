/** How the proxy handles requests of crawlers that do not support Decorum. */
import { z } from 'zod'
import { type Setting, wholeNumber } from './setting.ts'

export const proxying = {
  PROXY_USER_AGENT: {
    schema: z.enum(['override', 'keep', 'refuse']).default('override'),
    means:
      "What becomes of a client's User-Agent: `override` sends that of the agent; `keep` sends the client's, which has to name the agent's product token and a contact; `refuse` passes on only requests that have that of the agent already.",
    reason:
      'A site addresses rules and complaints to the User-Agent that it sees, so it is the one whose rules are obeyed.',
    roles: ['proxy'],
  },
  PROXY_MAX_WAIT_MS: {
    schema: wholeNumber(0).default(0),
    unit: 'ms',
    means:
      'How long a request is held before it is answered with 503, Retry-After and the gate that holds it; 0: as long as its client stays connected.',
    reason: 'Hardly any crawler retries after a 503, and each has a time-out.',
    roles: ['proxy'],
  },
  PROXY_TUNNELS: {
    schema: z.enum(['yes', 'no']).default('no'),
    means:
      'Whether CONNECT is answered with a tunnel, one of a lane at a time; what is asked for within it is not seen and not judged.',
    reason: 'A tunnel hides paths and answers, so it promises less than every other way of Decorum.',
    roles: ['proxy'],
  },
  PROXY_CA: {
    schema: z.string().default(''),
    means:
      'Authority by which HTTPS is looked into: the folder that `decorum proxy ca` made, or `memory` for one that lasts as long as the process; empty: HTTPS is not looked into.',
    reason: 'Every client has to be told to trust it, so it is made by whoever runs the crawler.',
    roles: ['proxy'],
  },
  PROXY_HOSTS: {
    schema: z.string().default(''),
    means:
      'Hosts that may be asked for, with all names below them, separated by commas; empty: all. Everything else is refused.',
    reason: 'Browsers ask their makers for updates through any proxy.',
    roles: ['proxy'],
  },
} as const satisfies Record<string, Setting>
