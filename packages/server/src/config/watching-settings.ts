// Settings of what an operator watches: figures of processes without the API, and traces.

import * as forms from './forms.ts'
import { setting } from './setting.ts'

export type WatchingSettings = Readonly<{
  /** Null: figures and health are told by the API's port alone. 0: any free one. */
  metricsPort: number | null
  metricsHost: string
  /** Base of a collector's OTLP address over HTTP; null: nothing is traced. */
  otlpEndpoint: string | null
  /** 0 to 1. */
  traceShare: number
}>

export const WATCHING_SETTINGS = {
  metricsHost: setting(
    'MAILROOM_METRICS_HOST',
    forms.host,
    { default: '127.0.0.1' },
    'Address the metrics port listens on.',
  ),
  metricsPort: setting(
    'MAILROOM_METRICS_PORT',
    forms.listeningPort,
    { default: null },
    'Extra port for only /metrics, /health and /ready, even in processes without the role http; 0 takes any free one. /metrics needs the operator’s token and does not exist without one.',
  ),
  otlpEndpoint: setting(
    'MAILROOM_OTLP_ENDPOINT',
    forms.collectorUrl,
    { default: null, meaning: 'that of OTEL_EXPORTER_OTLP_ENDPOINT, else none' },
    'Collector for traces (OTLP over HTTP): its base URL, such as http://127.0.0.1:4318.',
  ),
  traceShare: setting(
    'MAILROOM_TRACE_SHARE',
    forms.share,
    { default: '1' },
    'Share of traces to send, 0 to 1. Requests with a traceparent decide for themselves.',
  ),
} as const

type Environment = Readonly<Record<string, string | undefined>>

/** With the name that all programs have for the collector, where ours is not given. */
export function withStandardNames(env: Environment): Environment {
  const { name } = WATCHING_SETTINGS.otlpEndpoint
  const isGiven = (env[name]?.trim() ?? '') !== ''
  return isGiven ? env : { ...env, [name]: env.OTEL_EXPORTER_OTLP_ENDPOINT }
}
