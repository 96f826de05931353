// The log: JSON lines or, on a terminal, readable ones. Callers never log secrets; hiding them here
// is a second protection.

import { type DestinationStream, destination, pino, stdSerializers } from 'pino'
import { type Clock, systemClock } from './clock.ts'

/** Maximum bytes buffered for a slow reader of standard output; further lines are dropped. */
const LOG_BUFFER_BYTES_MAX = 8 * 1024 * 1024
/** Shorter secrets are not hidden, because they may be parts of other words. */
const LOG_SECRET_LENGTH_MIN = 8

/** An `error` field is written with its type, message, stack and causes. */
export type LogFields = Readonly<Record<string, unknown>>

/** Values from outside go into fields; `text` is a constant of the program. */
export type Log = {
  debug(fields: LogFields, text: string): void
  info(fields: LogFields, text: string): void
  warn(fields: LogFields, text: string): void
  error(fields: LogFields, text: string): void
}

type LogOptions = {
  level: string
  isTerminal: boolean
  /** Secrets of at least LOG_SECRET_LENGTH_MIN characters are hidden in every line. */
  secrets?: readonly string[]
  /** Standard output when absent. */
  output?: { write(text: string): unknown }
  clock?: Clock
}

export type OpenedLog = {
  log: Log
  /** Writes buffered lines before the process ends. */
  flush(): void
}

/** If the reader of standard output is slow, lines are dropped instead of using more memory. */
export async function openLog(options: LogOptions): Promise<OpenedLog> {
  const clock = options.clock ?? systemClock
  const output = options.isTerminal ? await openReadable(options) : openLines(options)
  const hide = hider(options.secrets ?? [])
  const logger = pino(
    {
      level: options.level,
      errorKey: 'error',
      serializers: { error: describeError },
      hooks: { streamWrite: (line) => escapeControls(hide(line)) },
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
    },
    output.stream,
  )
  return { log: logger, flush: output.flush }
}

/** An error as plain data, with its type, message, stack and causes; other values unchanged. */
export function describeError(error: unknown): unknown {
  return error instanceof Error ? stdSerializers.errWithCause(error) : error
}

export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
}

type Output = { stream: DestinationStream; flush(): void }

function openLines(options: LogOptions): Output {
  const { output } = options
  if (output !== undefined) return { stream: { write: (line) => void output.write(line) }, flush }
  // A blocked pipe must not stop mail.
  const stream = destination({ dest: 1, sync: false, maxLength: LOG_BUFFER_BYTES_MAX })
  return {
    stream,
    flush() {
      try {
        stream.flushSync()
      } catch {
        // Standard output is closed.
      }
    },
  }
}

async function openReadable(options: LogOptions): Promise<Output> {
  const { prettyFactory } = await import('pino-pretty')
  const format = prettyFactory({
    colorize: options.output === undefined,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname',
    errorLikeObjectKeys: ['error'],
    singleLine: true,
  })
  const output = options.output ?? process.stdout
  return { stream: { write: (line) => void output.write(format(line) ?? '') }, flush }
}

function flush(): void {}

const HIDDEN = '[hidden]'
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'token',
  'apiKey',
  'password',
  'secret',
  'webhookSecret',
  'leaseToken',
  'lease-token',
  'databaseUrl',
  'relayUrl',
  'adminToken',
  'bootstrapApiKey',
  'secretKey',
]

/** Matching the finished line costs 2 µs; searching objects costs 13. */
const SECRET_FORMS = new RegExp(
  [
    `"(?<field>${SECRET_FIELDS.join('|')})":"(?:[^"\\\\]|\\\\.)+"`,
    '\\b(?<prefix>mr[aclor]?_|whsec_)[A-Za-z0-9+/=]{20,}',
    '(?<scheme>\\b[Bb]earer )[^\\s"\\\\]+',
    '(?<query>[?&]token=)[^&\\s"\\\\]+',
    '(?<user>:\\/\\/[^\\s:/@"\\\\]*:)[^\\s/@"\\\\]+(?=@)',
  ].join('|'),
  'g',
)

function hider(secrets: readonly string[]): (line: string) => string {
  const texts = secrets
    .filter((text) => text.length >= LOG_SECRET_LENGTH_MIN)
    .map((text) => JSON.stringify(text).slice(1, -1))
  return (line) => {
    let shown = line
    for (const text of texts) shown = shown.replaceAll(text, HIDDEN)
    return shown.replace(SECRET_FORMS, hideMatch)
  }
}

function hideMatch(...match: unknown[]): string {
  const groups = match.at(-1) as Record<string, string | undefined>
  if (groups.field !== undefined) return `"${groups.field}":"${HIDDEN}"`
  return (groups.prefix ?? groups.scheme ?? groups.query ?? groups.user ?? '') + HIDDEN
}

/**
 * Remote text must not control a terminal or reorder its lines, even after the JSON is decoded. An
 * escaped backslash is matched first, so that the text after it is not taken for an escape.
 */
function escapeControls(line: string): string {
  return line
    .replace(/\\(?:\\|u00(?:0[0-8be-f]|1[0-9a-f]))/gi, (match) =>
      match === '\\\\' ? match : `\\${match}`,
    )
    .replace(/[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (character) => {
      return `\\\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
    })
}
