// What became of connections, recipients and messages at the listener: told to whoever counts.

export type SmtpOutcome =
  | { readonly kind: 'connection-opened' }
  | { readonly kind: 'connection-closed' }
  /** More connections than allowed; answered 421. */
  | { readonly kind: 'connection-refused' }
  /** Closed by us with a 421, for a deadline, a limit or the end of service. */
  | { readonly kind: 'connection-cut'; readonly reason: CutReason }
  | { readonly kind: 'recipient-accepted' }
  | { readonly kind: 'recipient-refused'; readonly code: number }
  | {
      readonly kind: 'message-accepted'
      readonly sizeBytes: number
      readonly recipients: number
      readonly bareLineFeeds: number
    }
  | { readonly kind: 'message-refused'; readonly code: number }
  /** The connection ended within DATA; nothing was handed over. */
  | { readonly kind: 'message-aborted' }

export type CutReason =
  | 'early-talker'
  | 'http'
  | 'flood'
  | 'idle-commands'
  | 'refused-recipients'
  | 'connection-deadline'
  | 'command-deadline'
  | 'slow-data'
  /** Others had no room: of memory for messages, or for connections. */
  | 'crowded-out'
  | 'shutdown'

export type CountOutcome = (outcome: SmtpOutcome) => void

/** Where the engine reports surprises; the fields never hold message content. */
export type SmtpLog = {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
