/** hard: the address is dead; full: its mailbox is; policy: the sender or the mail is unwanted. */
export type BounceClass = 'hard' | 'soft' | 'policy' | 'full'

/** RFC 3464 §2.3.3. */
export type ReportedAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

export type ReportedRecipient = {
  /** Bare, as the report writes it; null where it names none. */
  readonly recipient: string | null
  /** As the sender wrote it (RFC 3461 ORCPT), bare; null where the report does not tell. */
  readonly originalRecipient: string | null
  readonly action: ReportedAction
  /**
   * RFC 3463. Where the report gives no more than a reply code or a plain failure it is the undefined
   * code of that class (X.0.0), as RFC 3464 §2.3.4 has it; null when not even the class is known.
   */
  readonly enhancedCode: string | null
  /** SMTP reply code. */
  readonly replyCode: number | null
  /** The other server's words on one line, at most RESPONSE_LENGTH_MAX characters. */
  readonly diagnostic: string
  /** Means something for the action `failed` only. */
  readonly bounceClass: BounceClass
}

/** What the envelope of a report tells; its fields may say anything. */
export type ReportEnvelope = {
  /** Whether it came with the null reverse-path, as reports must (RFC 5321 §4.5.5). */
  readonly hasNullSender: boolean
}

export type Report =
  | {
      readonly kind: 'bounce'
      /** At least one; at most REPORT_RECIPIENTS_MAX. */
      readonly recipients: ReportedRecipient[]
      /** `<id>` of the message that was sent, null where it is not returned. */
      readonly originalMessageId: string | null
      /** Whether RFC 3464 fields said it, in a part of their own. */
      readonly isStandard: boolean
    }
  | {
      readonly kind: 'complaint'
      /**
       * Whether a feedback part (RFC 5965) said it. Where none did, somebody returned a message under
       * words of complaint, or a service's notice says it: to be believed only if that message, by what
       * follows, is one that was sent from here, and about the recipients named alone.
       */
      readonly isStandard: boolean
      /** Lower-case; RFC 5965 §7.3. */
      readonly feedbackType: string
      /** Bare; empty where the report hides them, as many do. */
      readonly recipients: string[]
      readonly originalMessageId: string | null
      /** Bare; the null reverse-path is ''. */
      readonly originalMailFrom: string | null
      /** The Return-Path of the message complained of, bare. */
      readonly reportedReturnPath: string | null
      /** X-Loop values of the message complained of, as far as its header section is returned. */
      readonly returnedLoopMarks: readonly string[]
    }
  | { readonly kind: 'none' }
