/** The queue board (bull-board), read-only: what lies in `candidates` and `orders` of each partition. */

import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { Queue } from 'bullmq'
import type { FastifyInstance } from 'fastify'
import { PAGE_POLICY } from './access/guard.ts'

export const BOARD_PATH = '/queues'

/** The board's page styles itself inline and names its base; scripts stay this server's alone. */
const BOARD_POLICY = `${PAGE_POLICY.replace("base-uri 'none'", "base-uri 'self'")}; style-src 'self' 'unsafe-inline'; img-src 'self' data:`
/** The page asks a font of a third party, which the policy above would refuse with a noise: taken out instead. */
const WEB_FONT = /<link href="https:\/\/fonts\.googleapis\.com[^>]*>/

/** Puts the board of these queues at `/queues`. Every writing route of it answers 405. */
export async function addBoard(server: FastifyInstance, queues: Queue[]): Promise<void> {
  const adapter = new FastifyAdapter()
  adapter.setBasePath(BOARD_PATH)
  createBullBoard({
    queues: queues.map(
      (queue) =>
        // The board knows queues by name, and every partition has the same two: the tag tells them apart.
        new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false, prefix: `${queue.opts.prefix} ` }),
    ),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Decorum queues', hideRedisDetails: false } },
  })
  await server.register(
    async (scope) => {
      scope.addHook('onRoute', (route) => {
        const isRead = [route.method].flat().every((method) => method === 'GET' || method === 'HEAD')
        route.config = { ...route.config, access: isRead ? 'read' : 'write' }
      })
      scope.addHook('onSend', async (_request, reply, payload) => {
        reply.header('content-security-policy', BOARD_POLICY)
        const isPage = String(reply.getHeader('content-type')).startsWith('text/html')
        return isPage && typeof payload === 'string' ? payload.replace(WEB_FONT, '') : payload
      })
      await scope.register(adapter.registerPlugin())
    },
    { prefix: BOARD_PATH },
  )
}
