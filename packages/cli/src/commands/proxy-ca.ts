/** `decorum proxy ca DIR`: creates a certificate authority for permanent proxies. Only the user who creates it can read its key. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { entriesOf } from '@decorum/config'
import { CA_FILES, makeAuthority } from '@decorum/proxy/authority'
import { CommandError, messageOf } from '../exit.ts'
import { printJson, printText } from '../terminal.ts'

export type ProxyCaOptions = { hosts?: string; days: number; json?: boolean }

export async function proxyCa(dir: string, { hosts = '', days, json }: ProxyCaOptions): Promise<void> {
  const folder = resolve(dir)
  const names = entriesOf(hosts).map((host) => host.toLowerCase())
  const { certificate, key } = makeAuthority({ hosts: names, days })
  const [certificateFile, keyFile] = CA_FILES.map((name) => join(folder, name)) as [string, string]
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(keyFile, key, { flag: 'wx', mode: 0o600 })
    await writeFile(certificateFile, certificate, { flag: 'wx', mode: 0o644 })
  } catch (error) {
    throw new CommandError(`no authority was written to ${folder}: ${messageOf(error)}`)
  }
  if (json) printJson({ certificate: certificateFile, key: keyFile, days, hosts: names })
  else
    printText(
      [
        `${certificateFile}: what clients have to trust; ${names.length === 0 ? 'it may sign for every host' : `it may sign for ${names.join(', ')} and names below them`}, for ${days} days`,
        `${keyFile}: whoever has it can read what these clients send over HTTPS`,
        `PROXY_CA=${folder} decorum proxy`,
      ].join('\n'),
    )
}
