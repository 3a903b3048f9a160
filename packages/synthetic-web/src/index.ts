/** Sites on loopback that answer as they are told and record every request. Start at `spawnWeb`. */
export * from './behaviour.ts'
export * from './recorder.ts'
export * from './web.ts'
export * from './web-process.ts'
