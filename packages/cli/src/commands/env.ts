/** `decorum env`: prints the address of the running fleet's Redis for other programs: `eval "$(decorum env)"`. */
import { runningRedis } from '../running-redis.ts'
import { printResult } from '../terminal.ts'

export async function env({ json }: { json?: boolean }): Promise<void> {
  const url = await runningRedis()
  printResult(json, { REDIS_URL: url }, `export REDIS_URL='${url.replaceAll("'", "'\\''")}'`)
}
