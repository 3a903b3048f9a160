/**
 * Loaded before a program that `foreground.mjs` started: when the launcher is gone without having passed a signal on
 * (killed), the program ends as if it had been asked to. Processes further down inherit the flag, but another parent.
 */
import { Socket } from 'node:net'

if (process.env.DECORUM_LAUNCHER === String(process.ppid)) {
  const launcher = new Socket({ fd: 3 })
  launcher.on('error', () => {}) // 'close' follows
  launcher.on('close', () => process.kill(process.pid, 'SIGTERM'))
  launcher.resume().unref()
}
delete process.env.DECORUM_LAUNCHER
