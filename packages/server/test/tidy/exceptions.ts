// The exceptions of the tidy rules, each with its reason, and the files in which libraries and words belong.

import type { BannedWord, KeptLibrary } from './rules.ts'

/** Files over the length limit. */
export const LONG_FILES: Readonly<Record<string, string>> = {}

/** `path function` over the length limit. */
export const LONG_FUNCTIONS: Readonly<Record<string, string>> = {
  'packages/server/src/platform/telemetry/metrics.ts openMetrics':
    'one declaration after another; split, the names would stand apart from their use',
}

/** Imports whose name is computed. */
export const COMPUTED_IMPORTS: Readonly<Record<string, string>> = {}

const server = (path: string) => new RegExp(`^packages/server/src/${path}`)

export const KEPT_LIBRARIES: readonly KeptLibrary[] = [
  { library: 'pino', home: server('platform/log\\.ts$'), files: 1 },
  { library: 'pino-pretty', home: server('platform/log\\.ts$'), files: 1 },
  { library: 'prom-client', home: server('platform/telemetry/metrics\\.ts$'), files: 1 },
  {
    library: '@opentelemetry/api',
    home: server('platform/telemetry/otlp-tracing\\.ts$'),
    files: 1,
  },
  {
    library: '@opentelemetry/context-async-hooks',
    home: server('platform/telemetry/otlp-tracing\\.ts$'),
    files: 1,
  },
  {
    library: '@opentelemetry/exporter-trace-otlp-http',
    home: server('platform/telemetry/otlp-tracing\\.ts$'),
    files: 1,
  },
  {
    library: '@opentelemetry/resources',
    home: server('platform/telemetry/otlp-tracing\\.ts$'),
    files: 1,
  },
  {
    library: '@opentelemetry/sdk-trace',
    home: server('platform/telemetry/otlp-tracing\\.ts$'),
    files: 1,
  },
  { library: 'typeid-js', home: server('platform/ids\\.ts$'), files: 1 },
  { library: 'parse5', home: /^packages\/mail\/src\/html\//, files: 1 },
  { library: 'unpdf', home: /^packages\/mail-reading\/src\/files\//, files: 1 },
  { library: 'saxes', home: /^packages\/mail-reading\/src\/files\//, files: 1 },
  { library: 'numfmt', home: /^packages\/mail-reading\/src\/files\//, files: 1 },
  { library: 'nodemailer', home: /^packages\/mail\/src\/compose\//, files: 1 },
  { library: 'dns-packet', home: server('platform/dns/'), files: 2 },
  { library: 'selfsigned', home: server('platform/tls/'), files: 1 },
  {
    library: 'ws',
    home: /^packages\/(server\/src\/streams\/websocket-|cli\/src\/actions\/listen)/,
    files: 3,
  },
  { library: 'undici', home: server('platform/(egress|blobs)/'), files: 3 },
  { library: 's3mini', home: server('platform/blobs/'), files: 2 },
  { library: 'node:sqlite', home: server('platform/db/'), files: 1 },
  { library: 'pg', home: server('platform/db/'), files: 2 },
  { library: 'kysely', home: server(''), files: 90 },
  { library: 'fastify', home: server('(api|http|streams|operating|oauth)/'), files: 40 },
  { library: 'commander', home: /^packages\/(server\/src\/commands|cli\/src)\//, files: 20 },
]

export const BANNED_WORDS: readonly BannedWord[] = [
  {
    word: /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bprocess\.hrtime\b/,
    home: server('platform/clock\\.ts$'),
    reason: 'ask the clock',
  },
  {
    word: /\bMath\.random\b|\brandomBytes\b|\brandomUUID\b|\bgetRandomValues\b/,
    home: server('platform/chance\\.ts$'),
    reason: 'ask chance',
  },
  {
    word: /\bconsole\./,
    home: server('(commands/|main\\.ts$)'),
    reason: 'use the log',
  },
  {
    word: /\bprocess\.env\b/,
    home: server('(config/|commands/|main\\.ts$)'),
    reason: 'use the settings',
  },
  {
    word: /\bprocess\.exit\b/,
    home: server('(commands/|main\\.ts$)'),
    reason: 'only commands end the process',
  },
]
