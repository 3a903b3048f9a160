/** Reads a setting that is too large for a line: a file of JSON, or inline JSON in the environment. */
import { readFileSync } from 'node:fs'

/**
 * @param opens     the first character of inline JSON; any other text is the path of a file
 * @param isSecret  it may hold passwords, so no part of it is quoted
 * @throws          Error naming the setting, with a message for people, when it cannot be read
 */
export function readJsonSetting(name: string, opens: '[' | '{', text: string, isSecret = false): unknown {
  const inline = text.trimStart().startsWith(opens)
  try {
    return JSON.parse(inline ? text : readFileSync(text, 'utf8'))
  } catch (error) {
    const why = isSecret && error instanceof SyntaxError ? 'it is not JSON' : (error as Error).message
    throw new Error(`${name}: ${inline ? 'the inline JSON' : text} cannot be read: ${why}`)
  }
}
