/** A fetcher's parent as a process of its own; says the pids of its children. Settings come from the environment. */
import { pino } from 'pino'
import { readConfig } from '../../../services/fetcher/src/config.ts'
import { supervise } from '../../../services/fetcher/src/process/supervisor.ts'

const fetching = await supervise(readConfig(process.env), process.env, pino({ level: 'silent' }))
process.send?.(fetching.pids())
