/**
 * The role processes of one machine under one parent (`up`, `crawl`, `demo`): started in parallel, restarted when they crash, stopped in
 * order. A child whose parent has ended also ends (commands/role.ts).
 */
import { type PortWish, type RoleEvent, RoleProcess } from './role-process.ts'
import type { Role } from './roles.ts'

export type { PortWish, RoleEvent, RoleLine } from './role-process.ts'
export type { Role } from './roles.ts'

export type FleetOptions = {
  /** REDIS_URL and every other setting; PORT is set per child. May be a promise: the processes load their modules meanwhile */
  env: NodeJS.ProcessEnv | Promise<NodeJS.ProcessEnv>
  gateways: number
  fetchers: number
  /** true: a console on a free port */
  console?: boolean | PortWish
  /** number of permits processes; the first listens on `permitsPort`, the others on free ports */
  permits?: number
  permitsPort?: PortWish
  /** number of proxies, each on a free port */
  proxies?: number
  onEvent?: (event: RoleEvent) => void
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>

/** The default FETCH_DEADLINE_MS, plus time to complete leases and to end. */
const GRACE_MS = 40_000
const CONSOLE_GRACE_MS = 5_000

/**
 * Starts all processes and resolves when each is ready.
 * @throws CommandError or UsageError of the first that does not start; the others are killed first
 */
export async function startFleet(options: FleetOptions) {
  const { env, gateways, fetchers, console: withConsole = false, onEvent = () => undefined } = options
  const { permits = 0, permitsPort = 0, proxies = 0 } = options
  const member = (role: Role, name: string, port: PortWish): RoleProcess =>
    new RoleProcess({ role, name, env, port, onEvent })
  const some = (role: Role, length: number, firstPort: PortWish = 0): RoleProcess[] =>
    Array.from({ length }, (_, index) => member(role, `${role}-${index + 1}`, index === 0 ? firstPort : 0))
  const members = [
    ...some('gateway', gateways),
    ...some('fetcher', fetchers),
    ...some('permits', permits, permitsPort),
    ...some('proxy', proxies),
    ...(withConsole === false ? [] : [member('console', 'console', withConsole === true ? 0 : withConsole)]),
  ]
  const fleet = {
    members,
    of: (role: Role) => members.filter((one) => one.role === role),
    /**
     * All processes but the console drain in parallel, then the console ends. Resolves when all have ended.
     * @param graceMs  time for draining: at least a fetch deadline and the time to complete the lease
     * @returns whether all drained: no request is in flight any more
     */
    stop: async (graceMs = GRACE_MS) => {
      const drained = await Promise.all(members.filter((one) => one.role !== 'console').map((one) => one.stop(graceMs)))
      await Promise.all(fleet.of('console').map((one) => one.stop(CONSOLE_GRACE_MS)))
      return drained.every(Boolean)
    },
    /** Kills all at once: the second Ctrl-C. Leases in flight expire. */
    kill: () => {
      for (const one of members) one.kill()
    },
  }
  const starts = await Promise.allSettled(members.map((one) => one.start()))
  const failed = starts.find((start) => start.status === 'rejected')
  if (failed) {
    fleet.kill()
    throw failed.reason
  }
  return fleet
}
