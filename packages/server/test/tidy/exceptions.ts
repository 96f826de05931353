// What the tidy rules let pass, each with its reason, and where libraries and words are at home.

import type { BannedWord, KeptLibrary } from './rules.ts'

/** Files over the length limit. */
export const LONG_FILES: Readonly<Record<string, string>> = {
  'packages/server/src/base/limits.ts':
    'one list; split, nobody would know where to look a bound up, or that there is one already',
}

/** `path function` over the length limit. */
export const LONG_FUNCTIONS: Readonly<Record<string, string>> = {
  'packages/server/src/base/metrics.ts openMetrics':
    'one declaration after another; split, the names would stand apart from their use',
}

/** Imports whose name is computed. */
export const COMPUTED_IMPORTS: Readonly<Record<string, string>> = {}

const server = (path: string) => new RegExp(`^packages/server/src/${path}`)

export const KEPT_LIBRARIES: readonly KeptLibrary[] = [
  { library: 'pino', home: server('base/log\\.ts$'), files: 1 },
  { library: 'pino-pretty', home: server('base/log\\.ts$'), files: 1 },
  { library: 'prom-client', home: server('base/metrics\\.ts$'), files: 1 },
  { library: '@opentelemetry/api', home: server('base/otlp-tracing\\.ts$'), files: 1 },
  {
    library: '@opentelemetry/context-async-hooks',
    home: server('base/otlp-tracing\\.ts$'),
    files: 1,
  },
  {
    library: '@opentelemetry/exporter-trace-otlp-http',
    home: server('base/otlp-tracing\\.ts$'),
    files: 1,
  },
  { library: '@opentelemetry/resources', home: server('base/otlp-tracing\\.ts$'), files: 1 },
  { library: '@opentelemetry/sdk-trace', home: server('base/otlp-tracing\\.ts$'), files: 1 },
  { library: 'typeid-js', home: server('base/ids\\.ts$'), files: 1 },
  { library: 'html-to-text', home: server('mail/'), files: 1 },
  { library: 'nodemailer', home: server('mail/compose/'), files: 1 },
  { library: 'htmlparser2', home: server('mail/'), files: 2 },
  { library: 'dns-packet', home: server('net/dns/'), files: 2 },
  { library: 'selfsigned', home: server('net/'), files: 1 },
  { library: 'ws', home: server('http/websocket/'), files: 3 },
  { library: 'undici', home: server('(net/egress|blobs)/'), files: 3 },
  { library: 's3mini', home: server('blobs/'), files: 2 },
  { library: 'node:sqlite', home: server('db/'), files: 1 },
  { library: 'pg', home: server('db/'), files: 2 },
  { library: 'kysely', home: server('(db|store|jobs)/'), files: 40 },
  { library: 'fastify', home: server('http/'), files: 40 },
  { library: 'commander', home: /^packages\/(server\/src\/commands|cli\/src)\//, files: 20 },
]

export const BANNED_WORDS: readonly BannedWord[] = [
  {
    word: /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bprocess\.hrtime\b/,
    home: server('base/clock\\.ts$'),
    reason: 'ask the clock',
  },
  {
    word: /\bMath\.random\b|\brandomBytes\b|\brandomUUID\b|\bgetRandomValues\b/,
    home: server('base/chance\\.ts$'),
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
