import type { CategoryReason } from '@mailroom/mail/mime/parsed-message.ts'

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
