/** The fields of a request's shape in the form in which candidates and orders are parsed (request-shape.ts). */

import { z } from 'zod'
import {
  HEADER_VALUE,
  MAX_ACCEPTED_TYPES,
  MAX_HEADER_CHARS,
  MAX_HEADERS,
  type RequestShape,
  wrongHeaders,
} from './request-shape.ts'

const VALIDATOR = 'the value of the header as the site sent it is needed, at most 512 printable characters'
const validator = z.string(VALIDATOR).max(512, VALIDATOR).regex(HEADER_VALUE, VALIDATOR)
const DIGEST = 'the `digest` of an earlier outcome is needed, such as sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
const TRACEPARENT = 'a traceparent of W3C Trace Context, version 00, is needed'
const TYPE = 'a media type in lower case, such as text/html or image/*, without parameters'
const ONE_PART = "[a-z0-9!#$&^_.+'-]{1,64}"

/** Checked but passed on unchanged: z.record copies, and a copy loses a member that is called `__proto__`. */
const headers = z
  .unknown()
  .superRefine((value, context) => {
    const wrong = wrongHeaders(value)
    if (wrong !== undefined) context.addIssue({ code: 'custom', message: wrong })
  })
  .meta({
    type: 'object',
    maxProperties: MAX_HEADERS,
    additionalProperties: { type: 'string', maxLength: MAX_HEADER_CHARS },
  })

export const REQUEST_FIELDS = {
  method: z.enum(['GET', 'HEAD']).optional(),
  headers: (headers as unknown as z.ZodType<Record<string, string>>).optional(),
  ifNoneMatch: validator.refine((value) => value !== '*', 'the ETag of a copy is needed').optional(),
  ifModifiedSince: validator.refine((value) => !Number.isNaN(Date.parse(value)), 'a date is needed').optional(),
  knownDigest: z
    .string(DIGEST)
    .regex(/^sha1:[A-Z2-7]{32}$/, DIGEST)
    .optional(),
  maxBytes: z.number().int().min(1).optional(),
  deadlineMs: z.number().int().min(100).optional(),
  accept: z
    .array(z.string(TYPE).regex(new RegExp(`^${ONE_PART}/(\\*|${ONE_PART})$`), TYPE))
    .min(1)
    .max(MAX_ACCEPTED_TYPES)
    .optional(),
  redirects: z.enum(['follow', 'report']).optional(),
  traceparent: z
    .string(TRACEPARENT)
    .regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/, TRACEPARENT)
    .optional(),
} satisfies { [F in keyof Required<RequestShape>]: z.ZodType<RequestShape[F]> }

/** The shape of a request as an order carries it. */
export const OrderedShape: z.ZodType<RequestShape> = z.strictObject(REQUEST_FIELDS)
