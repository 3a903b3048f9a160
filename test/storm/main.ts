/** `npm run storm`: the storm, or what is named first (`rolling`); each says in its file what it takes. */
import { rollingCommand } from './rolling-command.ts'
import { stormCommand } from './storm-command.ts'
import { takeoverCommand } from './takeover-command.ts'

const COMMANDS: Record<string, (args: string[]) => Promise<number>> = {
  rolling: rollingCommand,
  takeover: takeoverCommand,
}
const [name = '', ...rest] = process.argv.slice(2)
const command = COMMANDS[name]
process.exit(await (command === undefined ? stormCommand(process.argv.slice(2)) : command(rest)))
