/** Maps a worker's report on its order to the fate of the URL, as with a fetcher of the fleet. Pure. */

import { hash } from 'node:crypto'
import { HEAD_BYTES, isHtml, pageStatements } from '@decorum/content/said'
import type { SiteLoad } from '@decorum/ledger'
import { tokensOf } from '@decorum/politeness'
import { base32, isConditional, linesOf, meaningOf, orderUrl, type Tolerated } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import {
  type AboutPage,
  bothLoads,
  type FetchedBody,
  loadOf,
  loadReported,
  NORMAL_LOAD,
  type PageRead,
  readLessLoad,
  readFailure,
  readPage,
  readRedirect,
} from '@decorum/sending'
import { fieldsThatFit } from '@decorum/sending/bodies'
import { Problem } from '@decorum/sending/granting'
import type { OrderReport } from './schemas.ts'

/** `heldMs`: time since the order was handed out */
export type AboutOrder = AboutPage & { heldMs: number }

/** @throws Problem when the report is insufficient for an outcome */
export function endOfOrder(report: OrderReport, about: AboutOrder): PageRead {
  const read = readStatements(report, about)
  return { ...read, load: withFurther(report, read.load) }
}

/** Load of the site according to a report whose URL gets no outcome. */
export function loadOfReport(report: OrderReport): SiteLoad {
  const { status, headers = [], retryAfter = '' } = report
  const lines = [...linesOf(headers, 'retry-after'), retryAfter]
  return withFurther(report, status === undefined ? NORMAL_LOAD : loadReported(status, lines))
}

/** Combines the load that a further request under the order met with that of its page. */
const withFurther = ({ load }: OrderReport, ofPage: SiteLoad): SiteLoad =>
  load === undefined ? ofPage : bothLoads(loadReported(load.status, load.retryAfter, loadOf), ofPage)

function readStatements(report: OrderReport, order: AboutOrder): PageRead {
  const { status, headers = [], reason, error } = report
  if (error !== undefined || reason !== undefined) return readFailure(reason ?? 'reset', error ?? '', order)
  if (status === undefined) throw new Problem('bad-request', 'status: is needed, or error')
  const about = { ...order, retryAfter: [...linesOf(headers, 'retry-after'), report.retryAfter ?? ''] }
  if (meaningOf(status) === 'asked-for-less') return readLessLoad(status, about)
  return readRedirect(status, headers, about) ?? readPage(fetched(status, headers, report, about), about)
}

function fetched(status: number, headers: FetchedBody['headers'], report: OrderReport, about: AboutOrder): FetchedBody {
  const { order, agent, heldMs, now } = about
  const ms = Math.round(Math.min(report.tookMs ?? heldMs, heldMs))
  const names = tokensOf(agent).map((name) => name.toLowerCase())
  const start = report.body !== undefined && isHtml(headers) !== false ? [report.body.subarray(0, HEAD_BYTES)] : []
  const says = pageStatements(orderUrl(order), headers, names, start)
  const kept = fieldsThatFit(headers)
  const tolerated: Tolerated[] | undefined = kept.length < headers.length ? ['large-head'] : undefined
  const unchanged = status === 304 && isConditional(order.request) ? true : undefined
  return {
    kind: 'fetched',
    status,
    headers: kept,
    bytes: report.bytes ?? report.body?.length ?? 0,
    truncated: report.truncated,
    digest: digestOf(report),
    startedAt: Math.round(now() - ms),
    ms,
    address: report.address,
    ...defined({ decodedBytes: report.body?.length, archive: report.archive, says, unchanged, tolerated }),
  }
}

/** Digest of the body, or the worker's own if it sent no body. @throws Problem when it is missing, or wrong for the body */
function digestOf({ body, digest, bytes = 0 }: OrderReport): string {
  if (body === undefined && digest !== undefined) return digest
  if (body === undefined && bytes > 0)
    throw new Problem('bad-request', 'digest: is needed for bytes without their body')
  const own = `sha1:${base32(hash('sha1', body ?? '', 'buffer'))}`
  if (digest !== undefined && digest !== own)
    throw new Problem('bad-request', `digest: the body that came has ${own}: send it again`)
  return own
}
