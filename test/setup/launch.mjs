/** For `foreground.test.ts`: runs a program as `npm start` runs the command. */
import { inForeground } from '../../scripts/foreground.mjs'

const sameSignalMs = Number(process.env.SAME_SIGNAL_MS)
process.exitCode = await inForeground(process.execPath, process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  sameSignalMs,
})
