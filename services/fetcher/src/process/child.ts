/** One fetching process under its supervisor. */
import { printableLog } from '@decorum/protocol'
import { runSupervised } from '@decorum/runtime'
import { pino } from 'pino'
import { readConfig } from '../config.ts'
import { startFetching } from './fetching.ts'

await runSupervised(() => {
  const config = readConfig(process.env)
  const log = pino({ ...printableLog, level: config.LOG_LEVEL, base: { role: 'fetcher', pid: process.pid } })
  return startFetching(config, log)
})
