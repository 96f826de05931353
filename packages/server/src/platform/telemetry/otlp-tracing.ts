// Sends traces to an OpenTelemetry collector by OTLP over HTTP. Spans that the collector does not
// accept in time are dropped. Loaded only when a collector is configured.

import {
  type Context,
  createContextKey,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { raceAbort } from '#platform/abort.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { programVersion } from '#platform/program-version.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import {
  NO_SPAN,
  type OpenSpan,
  type ParentOptions,
  type Span,
  type SpanOptions,
  type Tracing,
} from './tracing.ts'

/** Spans that may wait for the collector, about a kilobyte each; further spans are dropped. */
export const TRACE_SPANS_WAITING_MAX = 8_192
const TRACE_BATCH_SPANS = 512
const TRACE_BATCH_MS = SECOND_MS
const TRACE_SEND_MS_MAX = 5 * SECOND_MS
const TRACE_ATTRIBUTE_LENGTH_MAX = 200
const TRACE_END_MS_MAX = SECOND_MS
/** Sampled traces of callers continued per second; other requests are sampled by `share`. */
export const TRACE_CALLERS_PER_SECOND_MAX = 100
const TRACE_TROUBLE_LOG_MS = MINUTE_MS

type OtlpOptions = {
  /** A URL such as `http://collector:4318`. */
  readonly endpoint: string
  /** The share of traces started here that are sent: 0 to 1. */
  readonly share: number
  readonly attributes: Readonly<Record<string, string>>
  readonly log: Log
  readonly clock: Clock
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const

/** Opens no connection before the first spans are sent. */
export function openOtlpTracing(options: OtlpOptions): Tracing {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'mailroom',
      'service.version': programVersion(),
      ...options.attributes,
    }),
    // The service that starts a trace decides on sampling, so that no trace is incomplete.
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(options.share) }),
    spanLimits: { attributeValueLengthLimit: TRACE_ATTRIBUTE_LENGTH_MAX },
    spanProcessors: [boundedProcessor(openExporter(options), options)],
  })
  return new OtlpTracing(provider, options)
}

function openExporter({ endpoint }: OtlpOptions): SpanExporter {
  // The protocol's path is added to a base URL (OTLP §"Endpoint URLs for OTLP/HTTP").
  const base = endpoint.replace(/\/+$/, '')
  const url = base.endsWith('/v1/traces') ? base : `${base}/v1/traces`
  return new OTLPTraceExporter({ url, timeoutMillis: TRACE_SEND_MS_MAX })
}

/** Logs dropped spans at most once in TRACE_TROUBLE_LOG_MS. */
function boundedProcessor(exporter: SpanExporter, { log, clock }: OtlpOptions): SpanProcessor {
  let nextMs = Number.NEGATIVE_INFINITY
  let dropped = 0
  let waiting = 0
  const batches = new BatchSpanProcessor({
    exporter: {
      export(spans, done) {
        waiting -= spans.length
        exporter.export(spans, (result) => {
          if (result.code !== 0) dropped += spans.length
          const nowMs = clock.monotonic()
          if (dropped > 0 && nowMs >= nextMs) {
            log.warn(
              { spans: dropped },
              'traces were dropped because the collector did not accept them',
            )
            nextMs = nowMs + TRACE_TROUBLE_LOG_MS
            dropped = 0
          }
          done(result)
        })
      },
      forceFlush: async () => exporter.forceFlush?.(),
      shutdown: () => exporter.shutdown(),
    },
    maxQueueSize: TRACE_SPANS_WAITING_MAX,
    maxExportBatchSize: TRACE_BATCH_SPANS,
    scheduledDelayMillis: TRACE_BATCH_MS,
    exportTimeoutMillis: TRACE_SEND_MS_MAX,
  })
  return {
    onStart: () => {},
    onEnd(span) {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
      // The library drops spans past its limit without reporting it.
      if (waiting >= TRACE_SPANS_WAITING_MAX) {
        dropped += 1
        return
      }
      waiting += 1
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}

class OtlpTracing implements Tracing {
  readonly isOn = true
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  // Two services in one process must not share contexts.
  readonly #contexts = new AsyncLocalStorageContextManager().enable()
  readonly #mayFollow: () => boolean
  #closing: Promise<void> | null = null

  constructor(provider: TracerProvider, { share, clock }: OtlpOptions) {
    this.#provider = provider
    this.#tracer = provider.getTracer('mailroom')
    this.#mayFollow = share < 1 ? perSecond(TRACE_CALLERS_PER_SECOND_MAX, clock) : () => true
  }

  open(name: string, { parent, ...options }: ParentOptions): OpenSpan {
    const context = parseParent(parent)
    const isFollowed = context !== null && (!isSampled(context) || this.#mayFollow())
    return this.#start(name, options, isFollowed ? context : ROOT_CONTEXT)
  }

  begin<Value>(name: string, options: ParentOptions, work: (span: Span) => Promise<Value>) {
    return run(this.open(name, options), work)
  }

  resume<Value>(
    name: string,
    { parent, ...options }: ParentOptions,
    work: (span: Span) => Promise<Value>,
  ) {
    const context = parseParent(parent)
    if (context === null) return this.#contexts.with(ROOT_CONTEXT, () => work(NO_SPAN))
    return run(this.#start(name, options, context), work)
  }

  step<Value>(name: string, options: SpanOptions, work: (span: Span) => Promise<Value>) {
    const context = this.#contexts.active()
    // Timers and loops that started within a span may outlive it, and then no longer belong to it.
    const lifetime = context.getValue(LIFETIME) as Lifetime | undefined
    if (lifetime === undefined || lifetime.isOver) return work(NO_SPAN)
    return run(this.#start(name, options, context), work)
  }

  note(name: string, { parent, ...options }: ParentOptions): string | null {
    const context = parseParent(parent)
    if (context === null) return null
    const span = this.#start(name, options, context)
    span.end()
    return span.traceParent
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    // A collector that is down must not delay closing.
    const ending = this.#provider.shutdown().catch(() => {})
    await raceAbort(ending, { timeoutMs: TRACE_END_MS_MAX })
    this.#contexts.disable()
  }

  #start(name: string, { kind, attributes, startMs }: SpanOptions, context: Context): OpenSpan {
    const span = this.#tracer.startSpan(
      name,
      {
        kind: kind === undefined ? SpanKind.INTERNAL : KINDS[kind],
        ...(attributes && { attributes }),
        ...(startMs !== undefined && { startTime: startMs }),
        links: [],
      },
      context,
    )
    const lifetime: Lifetime = { isOver: false }
    const inner = trace.setSpan(context, span).setValue(LIFETIME, lifetime)
    return {
      set: (added) => void span.setAttributes(added),
      fail: (kindOfError) => {
        span.setAttribute('error.type', kindOfError).setStatus({ code: SpanStatusCode.ERROR })
      },
      traceParent: formatParent(span),
      within: (work) => this.#contexts.with(inner, work),
      end: () => {
        lifetime.isOver = true
        if (span.isRecording()) span.end()
      },
    }
  }
}

type Lifetime = { isOver: boolean }

const LIFETIME = createContextKey('mailroom lifetime')

async function run<Value>(span: OpenSpan, work: (span: Span) => Promise<Value>): Promise<Value> {
  try {
    return await span.within(() => work(span))
  } catch (error) {
    // The message of an error may hold text from outside.
    span.fail(error instanceof Error ? error.name : 'unknown')
    throw error
  } finally {
    span.end()
  }
}

/** W3C Trace Context §3.2.2; later versions begin alike and may be longer (§3.2.4). */
const PARENT = /^(?!ff|00.{54})[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

function parseParent(text: string | null): Context | null {
  const [, traceId, spanId, flags] = PARENT.exec(text ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return null
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

function isSampled(context: Context): boolean {
  const { traceFlags = 0 } = trace.getSpanContext(context) ?? {}
  return (traceFlags & TraceFlags.SAMPLED) !== 0
}

/** True for the first `limit` calls in each second. */
function perSecond(limit: number, clock: Pick<Clock, 'monotonic'>): () => boolean {
  let sinceMs = Number.NEGATIVE_INFINITY
  let count = 0
  return () => {
    const nowMs = clock.monotonic()
    if (nowMs - sinceMs >= SECOND_MS) {
      sinceMs = nowMs
      count = 0
    }
    count += 1
    return count <= limit
  }
}

function formatParent(span: OtelSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')}`
}
