/** `npm run storm`: the storm, or what is named first (`failover`); each says in its file what it takes. */
import { failoverCommand } from './failover-command.ts'
import { hostileCommand } from './hostile-command.ts'
import { rollingCommand } from './rolling-command.ts'
import { stormCommand } from './storm-command.ts'
import { takeoverCommand } from './takeover-command.ts'

const COMMANDS: Record<string, (args: string[]) => Promise<number>> = {
  failover: failoverCommand,
  hostile: hostileCommand,
  rolling: rollingCommand,
  takeover: takeoverCommand,
}
const [name = '', ...rest] = process.argv.slice(2)
const command = COMMANDS[name]
process.exit(await (command === undefined ? stormCommand(process.argv.slice(2)) : command(rest)))
