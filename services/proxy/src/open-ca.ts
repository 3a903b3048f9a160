/** Opens the authority that PROXY_CA names. Imported only if it is set: the modules that write certificates take 90 ms to load. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { wrongSettings } from '@decorum/config'
import { type Authority, CA_FILES, makeAuthority, openAuthority } from './authority.ts'
import type { ProxyConfig } from './config.ts'

/** Validity of an authority in memory, which lives as long as its process; a process that runs longer must be restarted. */
const MEMORY_DAYS = 90

/** @throws SettingsError */
export function openCa({ PROXY_CA: place, hosts }: Pick<ProxyConfig, 'PROXY_CA' | 'hosts'>): Authority {
  if (place === 'memory') return openAuthority(makeAuthority({ hosts, days: MEMORY_DAYS }))
  try {
    const [certificate = '', key = ''] = CA_FILES.map((name) => readFileSync(join(place, name), 'utf8'))
    return openAuthority({ certificate, key })
  } catch (error) {
    throw wrongSettings(`PROXY_CA: no authority in ${place}: ${(error as Error).message}`)
  }
}
