/** Environment → values, once per process; one message lists all errors for the person who set them. */
import { z } from 'zod'
import { misspelt } from './names.ts'
import { brokenRelations } from './relations.ts'
import { wrongValues } from './wrong-value.ts'

/** Wrong settings stop the start; the message is for the person who set them. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly code = 'SETTINGS'
}

/** An error that lists what is wrong, one line each. */
export const wrongSettings = (...lines: string[]): SettingsError =>
  new SettingsError(['wrong settings:', ...lines.map((line) => `  ${line}`)].join('\n'))

/**
 * Reads the settings that a schema names. An empty variable counts as absent: compose files and shells write `X=` for "not
 * set".
 * @throws SettingsError naming each wrong variable with valid and given value, each relation that does not hold, and each misspelt name
 */
export function readSettings<T extends z.ZodObject>(schema: T, env: Record<string, string | undefined>): z.output<T> {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value.trim() !== ''),
  )
  const parsed = schema.safeParse(given)
  const wrong = [
    ...misspelt(given),
    ...(parsed.success ? [] : wrongValues(parsed.error, given)),
    ...brokenRelations(parsed.success ? parsed.data : rightOnes(schema, given)),
  ]
  if (wrong.length > 0 || !parsed.success) throw wrongSettings(...wrong)
  return parsed.data
}

/** The values that are valid on their own, so that broken relations are reported together with other errors. */
function rightOnes({ shape }: z.ZodObject, given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(shape).flatMap(([name, schema]) => {
      const parsed = z.safeParse(schema, given[name])
      return parsed.success ? [[name, parsed.data]] : []
    }),
  )
}

/** Runs a function that reads settings, and converts any of its errors to a SettingsError. */
export function readingSettings<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw wrongSettings(error instanceof Error ? error.message : String(error))
  }
}
