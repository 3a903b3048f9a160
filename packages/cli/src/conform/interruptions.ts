/** Situations that interrupt the worker: its site is paused, the worker is frozen or ended, or the permits service is killed. */

import { setTimeout as sleep } from 'node:timers/promises'
import { now } from '../synthetic-web/index.ts'
import { CONFORM } from './settings.ts'
import { at, isKind, type Situation, SLACK_MS } from './situation.ts'

/** These situations run one after the other. */
export const INTERRUPTIONS: Situation[] = [
  {
    name: 'stop',
    means: 'hangs up when the answer to an extension says stop, or when its lease is over',
    sites: { site: { announce: true, pages: [{ dribbleMs: 3 * CONFORM.LEASE_MS }, {}] } },
    urls: at('/stopped'),
    most: 2,
    async act({ pause, began }) {
      await began('stop-site')
      const stoppedAt = now()
      await pause('stop-site')
      const openMs = await began('stop-site', 'ended').then((end) => end - stoppedAt)
      await pause('stop-site', 'resume')
      return [
        openMs > CONFORM.LEASE_MS + SLACK_MS && `its request was open for ${Math.round(openMs)} ms after the stop`,
      ]
    },
  },
  {
    name: 'dead-lease',
    means: 'goes on when its permit is gone: it was frozen for longer than its lease',
    sites: { site: { announce: true, pages: [{ delayMs: 2_000 }, {}] } },
    urls: at('/frozen'),
    most: 2,
    async act({ began, worker }) {
      await began('dead-lease-site')
      worker.signal('SIGSTOP')
      await sleep(CONFORM.LEASE_MS + CONFORM.QUARANTINE_MS + 1_000)
      worker.signal('SIGCONT')
      return []
    },
    judge: [isKind('page', 'fetched')],
  },
  {
    name: 'service-away',
    means: 'asks again after the permits service was killed and has come back',
    sites: { site: {} },
    urls: at('/after'),
    most: 2, // the worker may have the order when the service is killed, and cannot complete it before its lease ends
    async act({ killPermits }) {
      await killPermits()
      return []
    },
    judge: [isKind('page', 'fetched')],
  },
  {
    name: 'terminated',
    means: 'ends within ten seconds of SIGTERM, and holds no order any more',
    sites: { site: { announce: true, pages: { delayMs: 1_000 } } },
    urls: at('/last'),
    async act({ began, worker, isHeld }) {
      await began('terminated-site')
      worker.signal('SIGTERM')
      if (!(await worker.endsWithin(10_000 + SLACK_MS))) return ['it still runs']
      return [(await isHeld('terminated-site')) && 'its order was neither completed nor given back']
    },
  },
]
