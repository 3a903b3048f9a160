/** The independent reader of archives: python3's standard library alone (read_warc.py). */
import { spawn } from 'node:child_process'

export async function python(...args: string[]): Promise<{ code: number; out: string }> {
  const script = new URL('./read_warc.py', import.meta.url).pathname
  const child = spawn('python3', [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  const hear = (chunk: Buffer) => {
    out += chunk
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  return { code, out }
}
