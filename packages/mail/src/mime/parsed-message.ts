// The value that the parser returns to all code that stores or shows mail. Its texts contain no NUL
// and no lone surrogates, so all databases store the same text.

export type Mailbox = {
  readonly name: string
  /** Bare `local-part@domain` as written, or a local part alone; never in angle brackets. */
  readonly address: string
}

export type ParsedAttachment = {
  /** A safe file name that is unique within the message. */
  readonly filename: string
  readonly contentType: string
  /** The charset that the part declares; absent if undeclared. */
  readonly charset?: string
  readonly sizeBytes: number
  /** The Content-ID without angle brackets; null if the part has none. */
  readonly contentId: string | null
  readonly isInline: boolean
}

/** Why a message counts as sent by a program (RFC 3834 §2 and similar). */
type AutomaticReason =
  | 'null-sender'
  | 'auto-submitted'
  | 'precedence'
  | 'list'
  | 'auto-response-suppress'
  | 'system-sender'

/** A fault in a message, which is stored nevertheless. */
export type Defect =
  | 'too-many-parts'
  | 'too-deep'
  | 'too-many-lines'
  /** A text exceeded the size limit and became an attachment. */
  | 'text-too-large'
  | 'header-too-large'
  | 'too-many-header-fields'
  | 'parse-failed'
  | 'parse-timed-out'
  | 'duplicate-from'
  | 'duplicate-subject'
  | 'duplicate-message-id'
  | 'duplicate-content-type'
  | 'missing-from'
  /** A text is declared as base64 but is not encoded; it was kept unchanged. */
  | 'not-base64'
  /**
   * Mail programs do not show a text, because a better alternative exists or nothing refers to it.
   * The text is listed among the attachments.
   */
  | 'unseen-part'
  /** The text part contains text that is missing from the HTML; the additional text is kept. */
  | 'unsaid-text'
  /** A text was encoded in UTF-7, which many mail programs show undecoded. */
  | 'utf-7'

/**
 * `spam` and `malicious` are verdicts of scanners and of servers that relayed the message; the
 * others follow from its header and envelope.
 */
export type MailCategory = 'personal' | 'automated' | 'marketing' | 'bounce' | 'spam' | 'malicious'

export type CategoryReason = {
  readonly rule: string
  /** The text in the message that the rule matched; '' if it cannot be shown. */
  readonly detail: string
}

/**
 * A sign of the kind of mail. `notification`: a program wrote it. `system`: its sender is a
 * program. `mailing`: newsletter software sent it. `host`: a host of newsletters and discussions
 * sent it. `program`: a program may be involved, without effect on the category. `script`: the same
 * of a script, which a person may have started.
 */
export type KindSign = CategoryReason & {
  readonly says:
    | 'virus'
    | 'spam'
    | 'bounce'
    | 'notification'
    | 'mailing'
    | 'list'
    | 'unsubscribe'
    | 'host'
    | 'system'
    | 'bulk'
    | 'program'
    | 'script'
}

export type ParsedHeaders = {
  /** The Message-ID with angle brackets and without white space; null if absent or empty. */
  readonly messageId: string | null
  readonly inReplyTo: readonly string[]
  readonly references: readonly string[]
  readonly subject: string
  /** The first mailbox of the first From field, for display and authentication alike. */
  readonly from: Mailbox | null
  /** Number of mailboxes in the first From field, plus one per further From field. */
  readonly authorCount: number
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly bcc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
  /** RFC 5322 §3.6.1 date in milliseconds since the epoch; null if absent or unreadable. */
  readonly date: number | null
  readonly automaticReason: Exclude<AutomaticReason, 'null-sender'> | null
  /** Each rule occurs once. Only a message without signs may get an automatic reply. */
  readonly kindSigns: readonly KindSign[]
  /** Number of Received fields (RFC 5321 §6.3). */
  readonly receivedCount: number
  /** Values of the first LOOP_MARKS_MAX X-Loop fields, without overlong ones. */
  readonly loopMarks: readonly string[]
  /** Whether a mailing list forwarded the message (RFC 2919). */
  readonly hasListId: boolean
  /**
   * Free text of the header, one line per value: display names, Reply-To, and fields that any
   * program may fill.
   */
  readonly freeText: string
}

export type MimeMessage = {
  readonly headers: ParsedHeaders
  /** The text body, or else the text of the HTML; '' if the message has neither. */
  readonly text: string
  readonly html: string
  readonly attachments: readonly ParsedAttachment[]
  readonly defects: readonly Defect[]
}

export type ParsedMessage = MimeMessage & {
  /** The new text of a reply, without quoted history. The text of a forward is complete. */
  readonly extractedText: string
  /** The invitations in its calendar files. */
  readonly invites: readonly Invite[]
  /**
   * Index of the addresses that the message mentions; null if the message itself must be searched.
   */
  readonly mentions: string | null
}

/** Methods in lower case, as in JSCalendar (RFC 8984). */
export const inviteMethods = [
  'publish',
  'request',
  'reply',
  'add',
  'cancel',
  'refresh',
  'counter',
  'declinecounter',
] as const
export const eventStatuses = ['tentative', 'confirmed', 'cancelled'] as const
export const attendeeStatuses = [
  'needs-action',
  'accepted',
  'declined',
  'tentative',
  'delegated',
] as const
export const attendeeRoles = ['required', 'optional', 'chair', 'informational'] as const

/**
 * An event in a calendar file. A time has one of three forms: with an offset from UTC
 * (`2026-12-01T10:00:00+01:00`), a day (`2026-12-01`), or local (`2026-12-01T10:00:00`).
 */
export type Invite = {
  /** Null for a file that only describes events. */
  readonly method: (typeof inviteMethods)[number] | null
  readonly uid: string | null
  readonly sequence: number
  /** The occurrence of a series that the event changes, as the series identifies it. */
  readonly recurrenceId: string | null
  readonly start: string | null
  /** The first moment or day after the event. */
  readonly end: string | null
  /** IANA name of the time zone; null for days and for unknown zones. */
  readonly timezone: string | null
  readonly summary: string | null
  readonly location: string | null
  readonly organizer: Participant | null
  readonly attendees: Attendee[]
  /** The RRULE of a series (RFC 5545 §3.3.10). */
  readonly recurrence: string | null
  readonly status: (typeof eventStatuses)[number] | null
  /** The comment in an attendee's reply. */
  readonly comment: string | null
}

type Participant = { readonly name: string | null; readonly address: string }

type Attendee = Participant & {
  readonly status: (typeof attendeeStatuses)[number]
  readonly role: (typeof attendeeRoles)[number]
}
