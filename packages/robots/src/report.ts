/** Reports how each line of a file was parsed, like google/robotstxt's reporting parser. For people; parsing does not need it. */

import { textOf } from './bytes.ts'
import { FIELDS, type Field } from './fields.ts'
import { MAX_LINE_BYTES } from './limits.ts'
import { isLineEnd, readLine } from './line.ts'
import { type Policy, policies } from './policies.ts'
import { load, type RobotsSource } from './source.ts'

export interface LineReport {
  /** 1-based. */
  readonly line: number
  /** 'no-record': neither a colon nor exactly two words. */
  readonly kind: 'empty' | 'comment' | 'no-record' | 'record'
  /** For a record: the field of its key; 'unknown' when this package does not support it. */
  readonly field?: Field | 'unknown'
  readonly key?: string
  readonly value?: string
  readonly hasComment: boolean
  /** Whether the key is a known misspelling of `field`, or only begins like it. */
  readonly isTypo: boolean
  readonly isMissingColon: boolean
  /** Whether the line had bytes beyond the limit, which were not read. */
  readonly isTooLong: boolean
}

/** Every line of the first 500 KiB, as parsed under `policy` (default: decorum). */
export function reportLines(
  source: RobotsSource,
  { policy = policies.decorum }: { policy?: Policy } = {},
): LineReport[] {
  const loaded = load(source, false, policy.grammar)
  const { length } = loaded
  const bytes = loaded.bytes.slice(0, length + 1) // the next parse reuses the parser's memory
  const report: LineReport[] = []
  let start = 0
  for (const mark of [0xef, 0xbb, 0xbf])
    if (start < length && bytes[start] === mark) start++
    else break
  while (start < length) {
    let end = start
    while (end < length && !isLineEnd(bytes[end])) end++
    const parts = readLine(bytes, start, Math.min(end, start + MAX_LINE_BYTES), policy.grammar)
    const rest = parts.valueEnd > parts.nameAt ? 'no-record' : parts.comment ? 'comment' : 'empty'
    report.push({
      line: report.length + 1,
      kind: parts.record ? 'record' : rest,
      ...(parts.record
        ? {
            field: FIELDS[parts.field] ?? 'unknown',
            key: textOf(bytes, parts.nameAt, parts.nameEnd),
            value: textOf(bytes, parts.valueAt, parts.valueEnd),
          }
        : {}),
      hasComment: parts.comment,
      isTypo: parts.record && !parts.right,
      isMissingColon: parts.missingColon,
      isTooLong: end - start > MAX_LINE_BYTES,
    })
    start = end + (bytes[end] === 13 && bytes[end + 1] === 10 ? 2 : 1)
  }
  return report
}
