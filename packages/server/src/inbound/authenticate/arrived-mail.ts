import type { Mailbox } from '@mailroom/mail/mime/parsed-message.ts'

export type Author = {
  /** What is shown as the sender. */
  readonly from: Mailbox | null
  /** Mailboxes in From, over all its fields. */
  readonly authorCount: number
}

export type ArrivedMail = {
  readonly raw: Uint8Array
  readonly clientAddress: string | null
  readonly helo: string | null
  /** '' is the null reverse-path. */
  readonly reversePath: string
  /** Read meanwhile; where that fails, nobody. */
  readonly author: Promise<Author>
}
