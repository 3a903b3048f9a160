/** The queue board (bull-board), read-only: jobs in `candidates` and `orders` of each partition. */

import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import type { Queue } from '@decorum/protocol/bullmq'
import type { FastifyInstance } from 'fastify'
import { PAGE_POLICY } from './access/guard.ts'
import { totalsOf } from './pages/headline.ts'
import { type Html, html } from './pages/html.ts'
import type { FleetView } from './watch/fleet-view.ts'
import { some } from './words.ts'

export const BOARD_PATH = '/queues'

/** The board's page uses inline styles and sets a base URL; scripts may come only from this server. */
const BOARD_POLICY = `${PAGE_POLICY.replace("base-uri 'none'", "base-uri 'self'")}; style-src 'self' 'unsafe-inline'; img-src 'self' data:`
/** Removed from the page: a font of another server, which the policy above would block with an error in the browser. */
const WEB_FONT = /<link href="https:\/\/fonts\.googleapis\.com[^>]*>/

const BAR =
  'position:fixed;bottom:0;left:0;right:0;z-index:99;margin:0;padding:8px 16px;font:14px/1.4 system-ui,sans-serif;background:#1b2326;color:#fff'

/** An empty queue does not show how many URLs wait: the backlog is in lanes, and BullMQ carries batches before and after them. */
function whereTheBacklogIs(view: FleetView): Html {
  const { waiting, lanes, candidates, candidatesAreEstimated } = totalsOf(view)
  const sums =
    view.kind === 'unavailable'
      ? 'Redis does not answer.'
      : `${some(waiting, 'URL waits', 'URLs wait')} in ${some(lanes, 'lane')}, ${candidatesAreEstimated ? 'about ' : ''}${some(candidates, 'URL')} in candidates.`
  return html`<p role="note" style="${BAR}">The backlog is in lanes, not in these queues, which carry batches to and from them. ${sums} <a href="/" style="color:inherit">Overview</a></p>`
}

/** Mounts the board of these queues at `/queues`. Every writing route of it answers 405. */
export async function addBoard(
  server: FastifyInstance,
  queues: Queue[],
  view: () => Promise<FleetView>,
): Promise<void> {
  const adapter = new FastifyAdapter()
  adapter.setBasePath(BOARD_PATH)
  createBullBoard({
    queues: queues.map(
      (queue) =>
        // The board identifies queues by name, and every partition has the same two, so the tag is added.
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
        if (!isPage || typeof payload !== 'string') return payload
        return payload.replace(WEB_FONT, '').replace('</body>', `${whereTheBacklogIs(await view()).text}</body>`)
      })
      await scope.register(adapter.registerPlugin())
    },
    { prefix: BOARD_PATH },
  )
}
