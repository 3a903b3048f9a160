/**
 * Spans for OpenTelemetry: which process had a URL, when, for how long, and with what result. A frontier decides which URLs are traced,
 * with the `traceparent` of a candidate, which lane and order carry along; every process adds its spans to that trace. Without
 * OTEL_EXPORTER_OTLP_ENDPOINT traces are off: OpenTelemetry is not loaded, and a span costs one comparison.
 */
import { systemClock } from '@decorum/protocol/time'
import type { Attributes, SpanContext } from '@opentelemetry/api'
import { defined } from './defined.ts'

/** The trace of a span; absent: the URL is not traced. */
type Traced = { traceparent?: string | undefined } | undefined

export type OpenSpan = {
  set(attributes: Attributes): void
  /** @param error  the failure that ended the work */
  end(error?: Error | string): void
}

export type Traces = {
  /**
   * @param attributes  called only when a span is made
   * @param startedAt  ms since 1970; default: now
   * @returns undefined when the URL is not traced
   */
  span(name: string, traced: Traced, attributes?: () => Attributes, startedAt?: number): OpenSpan | undefined
  /** Sends the remaining spans, if the collector answers in time; never rejects. */
  stop(): Promise<void>
}

const NONE: Traces = { span: () => undefined, stop: async () => undefined }
/** How long an unresponsive collector may delay the end, ms. */
const STOP_MS = 2_000

/**
 * @param service   name of the role in the traces
 * @param endpoint  base address of a collector that accepts OTLP over HTTP; '': no traces. The exporter reads further OTEL_EXPORTER_OTLP_…
 * variables (headers, time-out, certificates)
 * @throws TypeError for an endpoint that is not a URL
 */
export async function openTraces(service: string, version: string, endpoint: string): Promise<Traces> {
  if (endpoint === '') return NONE
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import('@opentelemetry/api'), // oxlint-disable-line no-restricted-imports -- only where traces are switched on
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ])
  const exporter = new OTLPTraceExporter({ url: new URL('v1/traces', `${endpoint.replace(/\/*$/, '')}/`).href })
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ 'service.name': `decorum-${service}`, 'service.version': version }),
    // A URL without a sampled parent has no span at all.
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOffSampler() }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  })
  const tracer = provider.getTracer('decorum', version)
  return {
    span(name, traced, attributes, startedAt) {
      const parent = traced?.traceparent === undefined ? undefined : parentOf(traced.traceparent)
      if (parent === undefined) return undefined
      const context = api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
      const options = defined({ attributes: attributes?.(), startTime: startedAt })
      const span = tracer.startSpan(name, options, context)
      return {
        set: (more) => void span.setAttributes(more),
        end(error) {
          const message = error instanceof Error ? error.message : error
          if (message !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR, message })
          span.end()
        },
      }
    },
    async stop() {
      const late = systemClock.sleep(STOP_MS, { ref: false })
      await Promise.race([provider.shutdown(), late]).catch(() => undefined)
    },
  }
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

function parentOf(traceparent: string): SpanContext | undefined {
  const [, traceId, spanId, flags = ''] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
