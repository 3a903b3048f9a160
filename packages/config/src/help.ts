/** Lists the settings of one role for `--help`. */
import { settingsOf } from './settings.ts'
import { defaultOf, type Role } from './table/setting.ts'

const WIDTH = 100

export function settingsHelp(role: Role): string {
  const settings = settingsOf(role)
  const indent = Math.max(...settings.map(([name]) => name.length)) + 4
  const lines = settings.map(([name, setting]) => {
    const given = defaultOf(setting)
    const text = `${setting.means} ${given === undefined ? '' : `Default: ${given}.`}`.trimEnd()
    return `  ${name.padEnd(indent - 2)}${wrapped(text, WIDTH - indent).join(`\n${' '.repeat(indent)}`)}`
  })
  return ['Settings, from the environment (docs/settings.md has the reasons of the defaults):', ...lines].join('\n')
}

const wrapped = (text: string, width: number): string[] =>
  (text.match(new RegExp(`.{1,${width}}(?: |$)|\\S+`, 'g')) ?? []).map((line) => line.trimEnd())
