/** One fetching process under its supervisor. */
import { startJoined } from '@decorum/config/fleet-config'
import { roleLog, runSupervised } from '@decorum/runtime'
import { readConfig } from '../config.ts'
import { startFetching } from './fetching.ts'

await runSupervised((env) =>
  startJoined('fetcher', env, readConfig, (joined) => {
    const log = roleLog(joined.config.LOG_LEVEL, { role: 'fetcher', pid: process.pid })
    return startFetching(joined, log)
  }),
)
