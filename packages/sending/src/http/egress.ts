/** Checks at start that each local address in EGRESS belongs to this machine. A proxy may start later; until then its agents' URLs wait. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Egress, wrongSettings } from '@decorum/config'

/** @throws SettingsError */
export async function checkEgress({ localAddress }: Egress): Promise<void> {
  if (localAddress === undefined) return
  const server = createServer().listen(0, localAddress)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw wrongSettings(
      `EGRESS: ${localAddress} is no address of this machine (${(error as NodeJS.ErrnoException).code})`,
    )
  }
  server.close()
}
