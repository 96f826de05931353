// What a server said and what went wrong with it, as values whose texts are bounded and safe to show.

import { type PeerReply, splitEnhancedCode } from '@mailroom/mail/smtp/reply.ts'

/** Of a reply's text kept with a delivery, in characters. */
const REPLY_TEXT_LENGTH_MAX = 1_000

export type ClientReply = {
  /** Three digits; usually 200 to 599, but servers have said 999. */
  readonly code: number
  /** `class.subject.detail`, where the server gave one that fits its code. */
  readonly enhanced: string | null
  /** Without both codes, lines joined by LF, at most 1,000 characters. */
  readonly text: string
}

export type Failure =
  | { readonly kind: 'reply'; readonly reply: ClientReply }
  /** `code` is that of the system (`ECONNRESET`), `closed` or `aborted`. */
  | { readonly kind: 'network'; readonly code: string; readonly text: string }
  | { readonly kind: 'timeout'; readonly text: string }
  | { readonly kind: 'tls'; readonly text: string }
  | { readonly kind: 'protocol'; readonly text: string }

export const CLOSED: Failure = {
  kind: 'network',
  code: 'closed',
  text: 'The server closed the connection',
}
export const CLOSED_BY_US: Failure = {
  kind: 'network',
  code: 'closed',
  text: 'The connection was closed on our side',
}
export const ABORTED: Failure = {
  kind: 'network',
  code: 'aborted',
  text: 'Attempt cancelled by this service',
}

/** A server's reply as it is kept and shown. */
export function toClientReply(reply: PeerReply): ClientReply {
  const { enhanced, text } = splitEnhancedCode(reply)
  return { code: reply.code, enhanced, text: boundText(text) }
}

/** The connection is in a state that the protocol does not know. */
export function protocolFailure(text: string): Failure {
  return { kind: 'protocol', text: boundText(text) }
}

/** Also for a reply that is valid, but not here. */
export function unexpectedReply(reply: PeerReply): Failure {
  return protocolFailure(`A reply that has no place here: ${reply.code} ${reply.lines.join(' ')}`)
}

/** `waitedMs` is how long, `what` for what. */
export function timeoutFailure(what: string, waitedMs: number): Failure {
  return { kind: 'timeout', text: `No ${what} within ${waitedMs / 1000} s` }
}

/** An error of a socket. */
export function networkFailure(error: Error): Failure {
  return { kind: 'network', code: codeOf(error) ?? 'unknown', text: boundText(error.message) }
}

/** An error of a handshake or of a certificate. */
export function tlsFailure(error: Error | string): Failure {
  if (typeof error === 'string') return { kind: 'tls', text: boundText(error) }
  const code = codeOf(error)
  return { kind: 'tls', text: boundText(code ? `${code}: ${error.message}` : error.message) }
}

function codeOf(error: Error): string | null {
  return 'code' in error && typeof error.code === 'string' ? error.code : null
}

function boundText(text: string): string {
  const bounded = text.length > REPLY_TEXT_LENGTH_MAX ? text.slice(0, REPLY_TEXT_LENGTH_MAX) : text
  return bounded.toWellFormed().replace(/[^\P{C}\n]/gu, '?')
}
