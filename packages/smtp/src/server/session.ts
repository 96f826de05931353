// The port between the SMTP engine and whoever receives mail through it. The engine knows RFC 5321
// and nothing of inboxes; the receiver knows inboxes and nothing of sockets.

import type { Reply } from '@mailroom/mail/smtp/reply.ts'

/** What is known of the other end of one connection. */
export type Client = {
  /** IP address as text, IPv4-mapped IPv6 reduced to IPv4. */
  readonly address: string
  readonly port: number
  /** Argument of the last HELO or EHLO, '' before it. */
  readonly helo: string
  readonly isExtended: boolean
  /** Protocol name ('TLSv1.3') once STARTTLS has succeeded. */
  readonly tls: string | null
}

/** RFC 5321 §2.3.1: the envelope, as accepted so far. */
export type Envelope = {
  /** '' is the null reverse-path. Otherwise `local-part@domain`, as the client wrote it. */
  readonly reversePath: string
  /**
   * Accepted recipients in the order of their RCPT commands, as the client wrote them: each
   * `local-part@domain`, or `postmaster` alone (RFC 5321 §4.1.1.3). One may stand there twice.
   */
  readonly recipients: readonly string[]
  readonly isSmtpUtf8: boolean
  readonly body: '7BIT' | '8BITMIME'
}

export type ReceivedContent = {
  /** The message after dot-unstuffing, every line ended by CRLF. Chunks, to spare a copy. */
  readonly chunks: readonly Uint8Array[]
  readonly sizeBytes: number
  /** Line feeds without a carriage return that were stored as CRLF. */
  readonly bareLineFeeds: number
}

/** One for the whole listener; every call but the first two may answer at once or later. */
export type MailReceiver = {
  /** Whether it does not keep up, so that of the connections not all are taken that could be. */
  isStrained?(): boolean
  /**
   * MAIL, and DATA once there are recipients: null when a message may come, or a 4xx reply. `underWay`
   * messages come in or are being stored.
   */
  findObstacle?(stage: 'sender' | 'content', underWay: number): Reply | null
  /**
   * RCPT. A 2xx reply accepts the recipient; 4xx and 5xx refuse it. Called in order, and always
   * with a syntactically valid recipient. A rejection (exception) is answered 451 4.3.0.
   */
  checkRecipient(recipient: string, envelope: Envelope, client: Client): Reply | Promise<Reply>
  /**
   * The end of DATA, complete and within the size limit. The reply is what the client is told, so
   * 2xx only when the message is on disk. A rejection (exception) is answered 451 4.3.0. The
   * envelope does not change any more; the client may be gone when the answer comes.
   */
  receiveMessage(
    content: ReceivedContent,
    envelope: Envelope,
    client: Client,
  ): Reply | Promise<Reply>
}
