/** `decorum env`: prints the address of the running fleet's Redis for other programs: `eval "$(decorum env)"`. */
import { DONE, type ExitCode } from '../exit.ts'
import { runningRedis } from '../running-redis.ts'
import { tell, tellJson } from '../terminal.ts'

export async function env({ json }: { json?: boolean }): Promise<ExitCode> {
  const url = await runningRedis({ redisUrl: process.env.REDIS_URL?.trim() || undefined }, process.env)
  if (json) tellJson({ REDIS_URL: url })
  else tell(`export REDIS_URL='${url.replaceAll("'", "'\\''")}'`)
  return DONE
}
