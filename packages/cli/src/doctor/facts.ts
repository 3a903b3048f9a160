/** Collects the facts that `doctor` judges: about Redis, the processes, the machine. An unknown fact is left out, or its error is given. */
import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import type { FleetValues } from '@decorum/config'
import { readCurrent } from '@decorum/config/fleet-config'
import { fleetStatus } from '@decorum/console/status'
import { LAYOUT_VERSION, mastersOf } from '@decorum/ledger'
import { layoutsOf } from '@decorum/ledger/move'
import { defined } from '@decorum/runtime/defined'
import { type FleetLedger, withFleetLedger } from '../fleet-ledger.ts'
import { withRedis } from '../with-redis.ts'
import type { Facts, ServerFacts } from './findings.ts'

const SETTINGS = ['appendfsync', 'hash-max-listpack-value', 'set-max-intset-entries']

export type DoctorRequest = {
  hosts: string[]
  dnsServers: string[]
  slots: number
  /** whether every agent has a contact under the fleet's settings */
  haveContacts: (fleet: FleetValues) => boolean
}

/** @throws LedgerUnavailableError when Redis does not answer, with its reason */
export const factsOf = ({ hosts, dnsServers, slots, haveContacts }: DoctorRequest): Promise<Facts> =>
  withRedis(async (redis) => {
    const servers = await Promise.all(mastersOf(redis).map((server) => serverFacts(server, redis.isCluster)))
    const layouts = await layoutsOf(redis)
    const current = await readCurrent(redis)
    const isOurs = layouts.length === 1 && layouts[0] === LAYOUT_VERSION
    const fleet = isOurs ? await answered(withFleetLedger(stateOf)) : { members: [] }
    const names = await Promise.all(hosts.map((host) => resolveName(host, dnsServers)))
    return {
      servers,
      layouts,
      layout: LAYOUT_VERSION,
      configVersion: current?.version ?? 0,
      ...(fleet instanceof Error ? { fleetRefused: fleet.message } : fleet),
      openFiles: await openFiles(),
      slots,
      names,
      hasContact: haveContacts(current?.values ?? {}),
    }
  })

type Server = ReturnType<typeof mastersOf>[number]

async function serverFacts(server: Server, isCluster: boolean): Promise<ServerFacts> {
  const info = await answered(server.info())
  const before = Date.now()
  const [seconds, micros] = await server.time()
  const after = Date.now()
  const time = Number(seconds) * 1_000 + Number(micros) / 1_000
  const config: Record<string, string> = {}
  let configRefused: string | undefined
  for (const name of SETTINGS) {
    const answer = await answered<string[]>(server.config('GET', name))
    if (answer instanceof Error) configRefused = answer.message
    else if (answer[1] !== undefined) config[name] = answer[1]
  }
  const name = isCluster ? `${server.options.host}:${server.options.port}` : ''
  return {
    name,
    ...(info instanceof Error ? { info: '', infoRefused: info.message } : { info }),
    config,
    ...defined({ configRefused }),
    aheadMs: time - (before + after) / 2,
    uncertainMs: (after - before) / 2,
  }
}

/** The reply, or the error if Redis refuses the command, so that other facts can still be judged. @throws any other error */
async function answered<T>(reply: Promise<T>): Promise<T | Error> {
  try {
    return await reply
  } catch (error) {
    const causes = [(error as Error).cause, error] as Error[]
    const refusal = causes.find((one) => one instanceof Error && /NOPERM|unknown command/i.test(one.message))
    if (refusal === undefined) throw error
    return refusal
  }
}

async function stateOf({ ledger, outcomesLimit }: FleetLedger): Promise<Pick<Facts, 'members' | 'state'>> {
  const [members, { headline: state }] = await Promise.all([ledger.members(), fleetStatus(ledger, outcomesLimit)])
  return { members, state }
}

async function resolveName(host: string, servers: string[]): Promise<Facts['names'][number]> {
  const startedAt = performance.now()
  const resolver = new Resolver({ timeout: 3_000, tries: 1 })
  if (servers.length > 0) resolver.setServers(servers)
  try {
    await (servers.length > 0 ? resolver.resolve4(host) : lookup(host))
    return { host, ms: performance.now() - startedAt }
  } catch (error) {
    return { host, ms: performance.now() - startedAt, error: (error as NodeJS.ErrnoException).code ?? String(error) }
  }
}

/** Soft limit of open files of this process, which its children inherit; undefined if /proc does not state it. */
async function openFiles(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1]
  return soft === undefined ? undefined : soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft)
}
