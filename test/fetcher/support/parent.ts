/** A fetcher's parent as a process of its own; says the pids of its children. Settings come from the environment. */
import { readConfig, superviseFetching } from '@decorum/fetcher/testing'
import { pino } from 'pino'

const fetching = await superviseFetching(readConfig(process.env), process.env, pino({ level: 'silent' }))
process.send?.(fetching.pids())
