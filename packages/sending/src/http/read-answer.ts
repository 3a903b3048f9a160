/** Maps an error, and the phase that the exchange had reached, to the reason for a missing answer. */

import { BlockedAddressError, BlockedPortError, NoContactError } from '@decorum/politeness/admission'
import type { Failure } from '../read-page.ts'
import type { Phase } from './answer.ts'
import { DeadlineError } from './exchange.ts'
import { LookupTimeoutError } from './lookup.ts'
import { errors } from './undici.ts'

/** `code` is '' when the error has none; `phase` is the phase that the exchange had reached. */
type Failed = { error: Error; code: string; phase: Phase }

/** The first row that fits decides. */
const FAILURES: readonly [fits: (failed: Failed) => boolean, reason: Failure][] = [
  [({ error }) => error instanceof BlockedAddressError, 'blocked-address'],
  [({ error }) => error instanceof BlockedPortError, 'blocked-port'],
  [({ error }) => error instanceof NoContactError, 'no-contact'],
  [({ error, phase }) => error instanceof DeadlineError && phase === 'sent', 'timeout'],
  [({ error }) => error instanceof LookupTimeoutError, 'dns'],
  [({ code }) => code === 'ENOTFOUND', 'nxdomain'],
  [({ phase }) => phase === 'dns', 'dns'],
  [({ code }) => TLS_CODE.test(code), 'tls'],
  [({ phase }) => phase === 'tls', 'tls'],
  [({ phase }) => phase === 'connect', 'connect'],
  [({ error, code }) => error instanceof errors.HTTPParserError || code.startsWith('HPE_'), 'protocol'],
  [({ error, code }) => PROTOCOL_CODES.has(code) || BAD_ANSWERS.has(error.message), 'protocol'],
  [({ code }) => TIMEOUT_CODES.has(code), 'timeout'],
  [() => true, 'reset'],
]

const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO$|INVALID_CA|CRL_)/
const PROTOCOL_CODES = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'ERR_ASSERTION', // undici asserts on some impossible answers (status 099)
])
/** undici reports these as a closed socket: an unrequested 100 or 101, and an answer without a request. */
const BAD_ANSWERS = new Set(['bad response', 'bad upgrade'])
const TIMEOUT_CODES = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
])

export function failureOf(error: Error, phase: Phase): Failure {
  const failed: Failed = { error, code: 'code' in error ? String(error.code) : '', phase }
  return FAILURES.find(([fits]) => fits(failed))?.[1] ?? 'reset'
}
