/**
 * Spans for OpenTelemetry: which process had a URL, when, for how long, and what became of it. A frontier decides which URLs are traced, by
 * the `traceparent` of a candidate, which travels with it through lane and order; every process adds its spans to that trace. Off unless
 * OTEL_EXPORTER_OTLP_ENDPOINT is set: then nothing of OpenTelemetry is loaded, and a span costs one comparison.
 */
import { systemClock } from '@decorum/protocol/time'
import type { Attributes, SpanContext } from '@opentelemetry/api'
import { defined } from './defined.ts'

/** What a span belongs to; absent: the URL is not traced. */
type Traced = { traceparent?: string | undefined } | undefined

export type OpenSpan = {
  set(attributes: Attributes): void
  /** @param error  what broke the work off */
  end(error?: Error | string): void
}

export type Traces = {
  /**
   * @param attributes  asked for only where a span is made
   * @param startedAt  ms since 1970; default: now
   * @returns undefined when nothing is to be told
   */
  span(name: string, traced: Traced, attributes?: () => Attributes, startedAt?: number): OpenSpan | undefined
  /** Sends what has not been sent, as far as the collector answers in time; never rejects. */
  stop(): Promise<void>
}

const NONE: Traces = { span: () => undefined, stop: async () => undefined }
/** What a collector that does not answer may cost at the end, ms. */
const STOP_MS = 2_000

/**
 * @param service   name of the role, as traces show it
 * @param endpoint  base address of a collector that takes OTLP over HTTP; '': no traces. Further OTEL_EXPORTER_OTLP_… variables
 *                  (headers, time-out, certificates) are read by the exporter itself
 * @throws TypeError for an endpoint that is no URL
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
