// What a scanner of mail is asked, and what it answers.

import type { CategoryReason } from '@mailroom/mail/mime/parsed-message.ts'

/** What scanners are told about a message. */
export type ArrivingBytes = {
  readonly raw: Uint8Array
  readonly reversePath: string
  readonly recipients: readonly string[]
  readonly clientAddress: string | null
  readonly helo: string | null
}

export type ScanAnswer = {
  readonly verdict: 'clean' | 'spam' | 'malicious'
  readonly spamScore: number | null
  readonly reason?: CategoryReason
}
