/** One fetching process under its supervisor. */
import { startJoined } from '@decorum/fleet-config'
import { printableLog } from '@decorum/protocol'
import { runSupervised } from '@decorum/runtime'
import { pino } from 'pino'
import { readConfig } from '../config.ts'
import { startFetching } from './fetching.ts'

await runSupervised(() =>
  startJoined('fetcher', process.env, readConfig, (joined) => {
    const log = pino({ ...printableLog, level: joined.config.LOG_LEVEL, base: { role: 'fetcher', pid: process.pid } })
    return startFetching(joined, log)
  }),
)
