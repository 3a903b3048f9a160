/** The password of the console that `decorum up` starts: the user's own, or one that is made once and kept privately. */
import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type ConsoleLogin = {
  user: string
  password: string
  /** where a generated password is kept; absent: CONSOLE_PASSWORD gave it */
  file?: string
}

const NAME = 'console-password'

/** @param folder  exists, and is private */
export async function consoleLogin(env: NodeJS.ProcessEnv, folder: string): Promise<ConsoleLogin> {
  const user = 'decorum'
  if (env.CONSOLE_PASSWORD?.trim()) return { user, password: env.CONSOLE_PASSWORD }
  const file = join(folder, NAME)
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (/^[\w-]{24,}$/.test(kept)) return { user, password: kept, file }
  const password = randomBytes(18).toString('base64url')
  await rm(file, { force: true }) // whatever is there, a link too
  await writeFile(file, `${password}\n`, { mode: 0o600, flag: 'wx' })
  return { user, password, file }
}
