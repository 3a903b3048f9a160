/**
 * The trace of a candidate, where the frontier's program has set up OpenTelemetry: a span from here until Redis has it, under the span that is active.
 * The candidate carries its context, so that gateways and fetchers add theirs. Without OpenTelemetry nothing is made and nothing is added.
 */

import type { Candidate } from '@decorum/protocol'
import { isSpanContextValid, type Span, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'

const tracer = trace.getTracer('@decorum/client')

/** A candidate that names its trace already keeps it; what is none at all is the gateway's to refuse. */
export function traced(candidate: Candidate): { span?: Span; traceparent?: string } {
  if (typeof candidate !== 'object' || candidate === null || candidate.traceparent !== undefined) return {}
  const { url, id } = candidate
  const span = tracer.startSpan('decorum.enqueue', { kind: SpanKind.PRODUCER })
  const { traceId, spanId, traceFlags } = span.spanContext()
  if (!span.isRecording() || !isSpanContextValid(span.spanContext())) return {}
  span.setAttribute('url.full', String(url))
  if (id !== undefined) span.setAttribute('decorum.id', String(id))
  const flags = (traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')
  return { span, traceparent: `00-${traceId}-${spanId}-${flags}` }
}

/** @param error  why it could not be stored */
export function endSpan(span: Span, error?: unknown): void {
  if (error !== undefined)
    span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : 'it broke off' })
  span.end()
}
