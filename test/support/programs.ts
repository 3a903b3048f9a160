/** Programs of this machine that tests start beside ours: web servers, a browser. */
import type { ChildProcess } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'

/** Where servers stand that are on the PATH of root alone. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin']

/** @returns the first of these programs on the PATH or in a folder of the system; undefined: this machine has none */
export function programOf(...names: string[]): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_FOLDERS]
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Waits until the server accepts connections. It sends no request, because the server's log is what the test reads. */
export async function acceptsAt(server: ChildProcess, port: number, host = '127.0.0.1'): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`)
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, host)
      socket.once('connect', () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => resolve(false))
    })
    if (open) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
