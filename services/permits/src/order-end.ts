/** Maps a worker's report on its order to the fate of the URL, as with a fetcher of the fleet. Pure. */

import { hash } from 'node:crypto'
import { HEAD_BYTES, isHtml, readSaid } from '@decorum/content/said'
import { tokensOf } from '@decorum/politeness'
import { base32, isConditional, linesOf, meaningOf, orderUrl, type Tolerated } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import {
  type AboutPage,
  bothLoads,
  type FetchedBody,
  loadOf,
  loadReported,
  type PageRead,
  readAskedForLess,
  readFailure,
  readPage,
  readRedirect,
} from '@decorum/sending'
import { fieldsThatFit } from '@decorum/sending/bodies'
import { Problem } from '@decorum/sending/granting'
import type { OrderSaid } from './schemas.ts'

/** `heldMs`: since the order was handed out */
export type AboutOrder = AboutPage & { heldMs: number }

/** @throws Problem when the report is insufficient for an outcome */
export function endOfOrder(said: OrderSaid, about: AboutOrder): PageRead {
  const read = readSaidOf(said, about)
  // A further request under the order says more about the site than its page.
  if (said.load === undefined) return read
  return { ...read, load: bothLoads(loadReported(said.load.status, said.load.retryAfter, loadOf), read.load) }
}

function readSaidOf(said: OrderSaid, order: AboutOrder): PageRead {
  const { status, headers = [], reason, error } = said
  if (error !== undefined || reason !== undefined) return readFailure(reason ?? 'reset', error ?? '', order)
  if (status === undefined) throw new Problem('bad-request', 'status: is needed, or error')
  const about = { ...order, retryAfter: [...linesOf(headers, 'retry-after'), said.retryAfter ?? ''] }
  if (meaningOf(status) === 'asked-for-less') return readAskedForLess(status, about)
  return readRedirect(status, headers, about) ?? readPage(fetched(status, headers, said, about), about)
}

function fetched(status: number, headers: FetchedBody['headers'], said: OrderSaid, about: AboutOrder): FetchedBody {
  const { order, agent, heldMs, now } = about
  const ms = Math.round(Math.min(said.tookMs ?? heldMs, heldMs))
  const names = tokensOf(agent).map((name) => name.toLowerCase())
  const start = said.body !== undefined && isHtml(headers) !== false ? [said.body.subarray(0, HEAD_BYTES)] : []
  const says = readSaid(orderUrl(order), headers, names, start)
  const kept = fieldsThatFit(headers)
  const tolerated: Tolerated[] | undefined = kept.length < headers.length ? ['large-head'] : undefined
  const unchanged = status === 304 && isConditional(order.request) ? true : undefined
  return {
    kind: 'fetched',
    status,
    headers: kept,
    bytes: said.bytes ?? said.body?.length ?? 0,
    truncated: said.truncated,
    digest: digestOf(said),
    startedAt: Math.round(now() - ms),
    ms,
    address: said.address,
    ...defined({ decodedBytes: said.body?.length, archive: said.archive, says, unchanged, tolerated }),
  }
}

/** Length and digest from the body, from the worker's report, or absent. */
function digestOf({ body, digest, bytes = 0 }: OrderSaid): string {
  if (body === undefined && digest !== undefined) return digest
  if (body === undefined && bytes > 0)
    throw new Problem('bad-request', 'digest: is needed for bytes without their body')
  const own = `sha1:${base32(hash('sha1', body ?? '', 'buffer'))}`
  if (digest !== undefined && digest !== own)
    throw new Problem('bad-request', `digest: the body that came has ${own}: send it again`)
  return own
}
