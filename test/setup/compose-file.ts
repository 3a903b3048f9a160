/** docker-compose.yml as compose reads it, without an engine: anchors merged, variables filled in. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export type Service = {
  image: string
  command?: string[]
  environment?: Record<string, string>
  ports?: string[]
  profiles?: string[]
  volumes?: string[]
  secrets?: string[]
  user?: string
  read_only?: boolean
  cap_drop?: string[]
  deploy?: { replicas: number }
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test: string[] }
  stop_grace_period?: string
}
export type ComposeFile = { services: Record<string, Service>; volumes: Record<string, unknown> }

export const root = join(import.meta.dirname, '..', '..')

/** @throws Error as compose does, for a variable that `${NAME:?message}` asks for and nobody has set */
export function composeFile(env: Record<string, string>): ComposeFile {
  const parsed: unknown = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true })
  const filled = (text: string): string =>
    text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, sign: string | undefined, rest = '') => {
      const value = env[name] ?? ''
      if (value !== '') return value
      if (sign === '?') throw new Error(`${name}: ${rest}`)
      return rest
    })
  const read = (_: string, value: unknown): unknown => (typeof value === 'string' ? filled(value) : value)
  return JSON.parse(JSON.stringify(parsed), read) as ComposeFile
}

/** A JSON array behind an instruction of the Dockerfile. */
export function execForm(instruction: string): string[] {
  const lines = readFileSync(join(root, 'Dockerfile'), 'utf8').split('\n')
  const found = lines.findLast((line) => line.startsWith(`${instruction} [`))
  return JSON.parse(found?.slice(instruction.length + 1) ?? '[]') as string[]
}
