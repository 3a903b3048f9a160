/** Findings of `doctor`: facts about Redis, the fleet and this machine in, findings and fixes out. No I/O here. */
import type { FleetStatus } from '@decorum/console/status'
import { type About, infoField, type Member, OLDEST_REDIS } from '@decorum/ledger'
import { REDIS_SHARE } from '../local-redis/memory.ts'
import { some } from '../say.ts'

/** bad: a promise is weakened, or nothing works · warn: either may follow, or time or memory is wasted · ok: neither */
export type Finding = { check: string; state: 'ok' | 'warn' | 'bad'; says: string; mend?: string }

export type ServerFacts = {
  /** host:port of a cluster node, '' for a single server */
  name: string
  /** reply of INFO; '' if Redis refuses the command */
  info: string
  /** error with which Redis refuses INFO */
  infoRefused?: string
  /** how far its clock is ahead of this machine's, negative if behind; `uncertainMs`: largest error of this figure */
  aheadMs: number
  uncertainMs: number
  /** replies of CONFIG GET by setting; empty if Redis refuses the command, as managed servers do */
  config: Readonly<Record<string, string>>
  /** error with which Redis refuses CONFIG GET */
  configRefused?: string
}
export type Facts = {
  servers: ServerFacts[]
  /** layout versions of the partitions; empty: no fleet has run on this Redis */
  layouts: string[]
  /** the layout version of this release */
  layout: string
  /** version of the fleet's configuration; 0: there is none */
  configVersion: number
  /** absent if `fleetRefused` is set */
  members?: Member[]
  /** why the ledger could not be read */
  fleetRefused?: string
  /** the fleet's state, as the first page of the console shows it; absent: no ledger of this layout can be read */
  state?: Pick<FleetStatus['headline'], 'tone' | 'title' | 'sentence'>
  /** largest number of open files of a process of this user; undefined: unknown */
  openFiles: number | undefined
  slots: number
  names: { host: string; ms: number; error?: string }[]
  hasContact: boolean
}

const GB = 1024 ** 3
const FULL = 0.8
const CLOCK_MS = 1_000
const SLOW_FORK_US = 1_000_000
const SLOW_NAME_MS = 1_000
/** File descriptors besides one connection per slot: Redis, the archive, the log, modules. */
const OTHER_FILES = 256

type Add = (check: string, state: Finding['state'], says: string, mend?: string) => void

export function judge(facts: Facts): Finding[] {
  const found: Finding[] = []
  const add: Add = (check, state, says, mend) =>
    void found.push({ check, state, says, ...(mend === undefined || state === 'ok' ? {} : { mend }) })
  for (const server of facts.servers) ofServer(server, add)
  ofLayout(facts, add)
  if (facts.state !== undefined) ofState(facts.state, add)
  ofFleet(facts, add)
  ofThisMachine(facts, add)
  return found
}

function ofServer(
  { name, info, infoRefused, config, configRefused, aheadMs, uncertainMs }: ServerFacts,
  all: Add,
): void {
  const at = name === '' ? 'Redis' : `Redis ${name}`
  const add: Add = (check, state, says, mend) => all(check, state, `${at}: ${says}`, mend)

  if (infoRefused === undefined) {
    const version = infoField(info, 'redis_version')
    const isOld = Number.parseInt(version, 10) < OLDEST_REDIS
    const says = name === '' ? version : `${name}: ${version}`
    all('redis version', isOld ? 'bad' : 'ok', says, `install Redis ${OLDEST_REDIS}.0 or later`)
    ofInfo(info, add)
  } else
    add(
      'permissions',
      'bad',
      `INFO is refused (${infoRefused}): no process of a fleet starts there, and version, persistence, eviction, memory and connections could not be judged`,
      'ACL SETUSER <user> +info',
    )
  if (configRefused === undefined) ofConfig(config, add)
  else
    add(
      'permissions',
      'warn',
      `CONFIG GET is refused (${configRefused}): how often the append-only file is synced, and whether origins and ids are stored small, could not be judged`,
      'ACL SETUSER <user> +config|get, or look at appendfsync, hash-max-listpack-value and set-max-intset-entries where they are set',
    )

  const isOff = Math.abs(aheadMs) - uncertainMs > CLOCK_MS
  add(
    'clock',
    isOff ? 'warn' : 'ok',
    isOff
      ? `its clock is ${Math.round(aheadMs)} ms ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine's`
      : "its clock agrees with this machine's",
    'run an NTP client (chrony) on both; delays go by the clock of Redis alone, expiries do not',
  )
}

function ofInfo(info: string, add: Add): void {
  const field = (key: string) => infoField(info, key)
  const hasFile = field('aof_enabled') === '1'
  add(
    'persistence',
    hasFile ? 'ok' : 'bad',
    hasFile ? 'keeps an append-only file' : 'keeps no append-only file: a crash loses every pending URL',
    'redis-cli CONFIG SET appendonly yes, then CONFIG REWRITE',
  )
  for (const [key, what] of [
    ['aof_last_write_status', 'the append-only file'],
    ['aof_last_bgrewrite_status', 'the rewrite of that file'],
    ['rdb_last_bgsave_status', 'a snapshot'],
  ] as const)
    if (field(key) !== '' && field(key) !== 'ok')
      add(
        'persistence',
        'bad',
        `${what} could not be written`,
        'look at the free space and the owner of its data folder (CONFIG GET dir)',
      )

  const policy = field('maxmemory_policy')
  add(
    'eviction',
    policy === 'noeviction' ? 'ok' : 'bad',
    `maxmemory-policy ${policy}`,
    'redis-cli CONFIG SET maxmemory-policy noeviction: else URLs and due times are dropped',
  )

  const [used, most, machine] = ['used_memory', 'maxmemory', 'total_system_memory'].map((key) =>
    Number(field(key)),
  ) as [number, number, number]
  const limit = most > 0 ? most : machine
  if (most === 0)
    add(
      'memory',
      'warn',
      'has no maxmemory: when memory ends, the kernel kills it instead of Redis refusing new URLs',
      `redis-cli CONFIG SET maxmemory ${Math.max(1, Math.floor((machine * REDIS_SHARE) / GB))}gb`,
    )
  const share = limit > 0 ? used / limit : 0
  add(
    'memory',
    share > FULL ? 'bad' : 'ok',
    `uses ${(used / GB).toFixed(2)} of ${(limit / GB).toFixed(1)} GB`,
    'give it more memory, let outcomes be read (decorum status readers), or enqueue less: a full Redis accepts no URLs',
  )
  if (Number(field('latest_fork_usec')) > SLOW_FORK_US)
    add(
      'memory',
      'warn',
      `its last fork took ${(Number(field('latest_fork_usec')) / 1e6).toFixed(1)} s, in which nothing was granted`,
      'switch transparent huge pages off, or use more partitions on a cluster',
    )
  const [clients, room] = [Number(field('connected_clients')), Number(field('maxclients'))]
  if (room > 0)
    add(
      'connections',
      clients > room * FULL ? 'warn' : 'ok',
      `${clients} of ${room} connections`,
      'raise maxclients, and the open files of Redis with it',
    )
}

function ofConfig(config: ServerFacts['config'], add: Add): void {
  const sync = config.appendfsync
  if (sync !== undefined)
    add('persistence', sync === 'no' ? 'bad' : 'ok', `appendfsync ${sync}`, 'redis-cli CONFIG SET appendfsync everysec')
  for (const [key, least] of [
    ['hash-max-listpack-value', 1024],
    ['set-max-intset-entries', 4096],
  ] as const)
    if (config[key] !== undefined && Number(config[key]) < least)
      add(
        'memory',
        'warn',
        `${key} ${config[key]}: origins and ids take about twice the memory`,
        `redis-cli CONFIG SET ${key} ${least}`,
      )
}

function ofLayout({ layouts, layout }: Facts, add: Add): void {
  const others = layouts.filter((one) => one !== layout)
  if (layouts.length === 0) return add('layout', 'warn', 'no fleet has run on this Redis', 'start one')
  if (others.length === 0) return add('layout', 'ok', `the ledger has layout ${layout}`)
  const isLater = others.some((one) => Number.parseInt(one, 10) > Number(layout))
  const mend = isLater ? 'use that version' : 'decorum ledger upgrade (docs/operating.md)'
  add('layout', 'bad', `the ledger has layout ${others.join(', ')}, this version ${layout}`, mend)
}

/** Adds no separate fix: the sentence contains it. */
const ofState = ({ tone, title, sentence }: NonNullable<Facts['state']>, add: Add): void =>
  add('crawl', tone === 'trouble' ? 'bad' : 'ok', `${title}. ${sentence}`)

const buildOf = ({ version, commit = 'unknown' }: About): string => `${version} (commit ${commit})`

function ofFleet({ members, fleetRefused, configVersion, layouts }: Facts, add: Add): void {
  if (fleetRefused !== undefined)
    return add(
      'permissions',
      'bad',
      `the ledger refuses to be read (${fleetRefused}): which processes run and how the crawl is could not be judged`,
      'ACL SETUSER <user> ~* &* +@all (docs/cluster.md)',
    )
  if (layouts.length === 0 || members === undefined) return
  for (const role of ['gateway', 'fetcher']) {
    const count = members.filter((member) => member.role === role).length
    if (count > 0) add('fleet', 'ok', `running ${role}s: ${count}`)
    else add('fleet', 'bad', `no ${role} runs`, `decorum ${role}`)
  }
  const versions = [...new Set(members.flatMap(({ about }) => (about === undefined ? [] : [buildOf(about)])))]
  if (versions.length > 1)
    add('versions', 'warn', `several builds run: ${versions.join(', ')}`, 'finish the rolling restart')
  else if (versions.length === 1) add('versions', 'ok', `every process runs version ${versions.join()}`)
  let isCurrent = true
  for (const { role, about } of members) {
    if (about === undefined) continue
    const { config, pending } = about
    const who = `${role} ${about.pid} on ${about.host}`
    isCurrent &&= config === configVersion && pending.length === 0
    if (config !== configVersion)
      add(
        'configuration',
        'warn',
        `${who} uses version ${config}, the fleet's is ${configVersion}`,
        'look at its log: it cannot read the newer one; start it again',
      )
    if (pending.length > 0)
      add('configuration', 'warn', `${who} does not apply ${pending.join(', ')} yet`, 'start it again')
  }
  if (isCurrent)
    add(
      'configuration',
      'ok',
      configVersion === 0 ? 'no configuration is written yet' : `all use version ${configVersion}`,
    )
}

function ofThisMachine({ openFiles, slots, names, hasContact }: Facts, add: Add): void {
  const needed = slots + OTHER_FILES
  if (openFiles !== undefined)
    add(
      'open files',
      openFiles < needed ? 'bad' : 'ok',
      `a process here may open ${openFiles} files; for ${some(slots, 'slot')} it needs ${needed}`,
      `ulimit -n ${needed * 2}, LimitNOFILE= of systemd, or --ulimit nofile of the container`,
    )
  for (const { host, ms, error } of names) {
    if (error !== undefined)
      add('DNS', 'bad', `${host} could not be looked up: ${error}`, 'look at /etc/resolv.conf, or set DNS_SERVERS')
    else {
      const mend = 'run a caching resolver near the fetchers, and name it in DNS_SERVERS'
      add('DNS', ms > SLOW_NAME_MS ? 'warn' : 'ok', `${host} took ${Math.round(ms)} ms`, mend)
    }
  }
  if (hasContact) add('contact', 'ok', 'every agent names a contact')
  else {
    const mend = 'DECORUM_CONTACT=https://… or an e-mail address'
    add('contact', 'warn', 'no contact is set: no public site is visited', mend)
  }
}
