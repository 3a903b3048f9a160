/** Whoever starts a package need not be who packed or installed it, and the umask of whoever packs it says nothing about that. */
import { chmodSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

export function readableByAll(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    if (!entry.isSymbolicLink()) chmodSync(file, entry.isDirectory() || statSync(file).mode & 0o100 ? 0o755 : 0o644)
  }
}
