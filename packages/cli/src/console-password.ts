/** The console password for `decorum up`: the user's, or one that is generated once and kept privately. */
import { randomBytes } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readSettings, schemaOf } from '@decorum/config'

export type ConsoleLogin = {
  user: string
  password: string
  /** file of a generated password; absent: it came from CONSOLE_PASSWORD */
  file?: string
}

const NAME = 'console-password'

const Given = schemaOf('console').pick({ CONSOLE_PASSWORD: true })

/**
 * Called before Redis is started: a fleet that then fails to start announces no restart, so the next start has to wait.
 * @param folder  private folder for a generated password, which must exist
 * @throws SettingsError when CONSOLE_PASSWORD is too short
 */
export async function consoleLogin(env: NodeJS.ProcessEnv, folder: string): Promise<ConsoleLogin> {
  const user = 'decorum'
  const { CONSOLE_PASSWORD } = readSettings(Given, env)
  if (CONSOLE_PASSWORD !== undefined) return { user, password: CONSOLE_PASSWORD }
  const file = join(folder, NAME)
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (/^[\w-]{24,}$/.test(kept)) return { user, password: kept, file }
  const password = randomBytes(18).toString('base64url')
  await rm(file, { force: true }) // removes whatever has this name, also a link
  await writeFile(file, `${password}\n`, { mode: 0o600, flag: 'wx' })
  return { user, password, file }
}
