/**
 * The trace of a candidate, if the frontier's program has set up OpenTelemetry: a span, under the active one, until Redis has stored the
 * candidate. The candidate carries the span's context, so that gateways and fetchers add their spans. Without OpenTelemetry no span is
 * made, and none of its modules are loaded: that would be 7 MB and 25 ms of CPU at the start of a short command.
 */
import { createRequire } from 'node:module'
import type { Candidate } from '@decorum/protocol'
import type * as OpenTelemetry from '@opentelemetry/api'
import type { Span, Tracer } from '@opentelemetry/api'

const require = createRequire(import.meta.url)

/** Every copy of `@opentelemetry/api` 1.x finds the program's setup under this name; absent: OpenTelemetry is not set up. */
const SET_UP = Symbol.for('opentelemetry.js.api.1')
let loaded: { api: typeof OpenTelemetry; tracer: Tracer } | undefined

function openTelemetry(): typeof loaded {
  if (loaded === undefined && SET_UP in globalThis) {
    const api = require('@opentelemetry/api') as typeof OpenTelemetry
    loaded = { api, tracer: api.trace.getTracer('@decorum/client') }
  }
  return loaded
}

/** A candidate that already names its trace keeps it; an invalid one is left to the gateway, which refuses it. */
export function traced(candidate: Candidate): { span?: Span; traceparent?: string } {
  if (typeof candidate !== 'object' || candidate === null || candidate.traceparent !== undefined) return {}
  const telemetry = openTelemetry()
  if (telemetry === undefined) return {}
  const { api, tracer } = telemetry
  const { url, id } = candidate
  const span = tracer.startSpan('decorum.enqueue', { kind: api.SpanKind.PRODUCER })
  const { traceId, spanId, traceFlags } = span.spanContext()
  if (!span.isRecording() || !api.isSpanContextValid(span.spanContext())) return {}
  span.setAttribute('url.full', String(url))
  if (id !== undefined) span.setAttribute('decorum.id', String(id))
  const flags = (traceFlags & api.TraceFlags.SAMPLED).toString(16).padStart(2, '0')
  return { span, traceparent: `00-${traceId}-${spanId}-${flags}` }
}

/** @param error  why the candidate could not be stored; absent: it was */
export function endSpan(span: Span, error?: unknown): void {
  if (error !== undefined)
    span.setStatus({
      code: 2 satisfies OpenTelemetry.SpanStatusCode.ERROR,
      message: error instanceof Error ? error.message : 'it broke off',
    })
  span.end()
}
