// The value between the parser and everything that stores or shows mail. Its texts are free of NUL and lone
// surrogates, so that every database keeps them alike.

export type Mailbox = {
  /** Display name, '' when there is none. */
  readonly name: string
  /** Bare `local-part@domain` as written, or a local part alone; never with angle brackets. */
  readonly address: string
}

export type ParsedAttachment = {
  /** Safe and unique within the message. */
  readonly filename: string
  readonly contentType: string
  /** As its part declares it; absent without one. */
  readonly charset?: string
  readonly sizeBytes: number
  /** Without angle brackets. */
  readonly contentId: string | null
  readonly isInline: boolean
}

/** Why a message counts as sent by a program (RFC 3834 §2 and its relatives). */
type AutomaticReason =
  | 'null-sender'
  | 'auto-submitted'
  | 'precedence'
  | 'list'
  | 'auto-response-suppress'
  | 'system-sender'

/** A fault of a message that is stored nevertheless. */
export type Defect =
  | 'too-many-parts'
  | 'too-deep'
  | 'too-many-lines'
  /** A text was larger than texts may be, and became an attachment. */
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
  /** A text that is called base64 and is not was kept as it is. */
  | 'not-base64'
  /** Mail programs do not show a text: a better alternative or nothing refers to it. It is among the attachments. */
  | 'unseen-part'
  /** The text part says more than the HTML, and its new text is kept. */
  | 'unsaid-text'
  /** A text was in UTF-7, which many mail programs show undecoded. */
  | 'utf-7'

/**
 * `spam` and `malicious` are the verdicts of scanners, and of servers that the message passed; the others follow
 * from its header and envelope.
 */
export type MailCategory = 'personal' | 'automated' | 'marketing' | 'bounce' | 'spam' | 'malicious'

export type CategoryReason = {
  /** The name of the rule. */
  readonly rule: string
  /** What the rule found, in words of the message; '' for nothing that can be shown. */
  readonly detail: string
}

/**
 * A sign of what kind of mail a message is. `notification`: a program wrote it; `system`: its sender is a program;
 * `mailing`: a program for newsletters sent it; `host`: a host of newsletters and of discussions sent it; `program`: a
 * program may have to do with it, which says nothing of its category.
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
}

export type ParsedHeaders = {
  /** With angle brackets, white space folded; null when absent or empty. */
  readonly messageId: string | null
  readonly inReplyTo: readonly string[]
  readonly references: readonly string[]
  readonly subject: string
  /** The first From field's first mailbox, for display and for authentication alike. */
  readonly from: Mailbox | null
  /** Mailboxes of the first From field, and one for each further one. */
  readonly authorCount: number
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly bcc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
  /** RFC 5322 §3.6.1 date in milliseconds since the epoch, null when absent or unreadable. */
  readonly date: number | null
  readonly automaticReason: Exclude<AutomaticReason, 'null-sender'> | null
  /** Each rule once; an automatic answer needs that there are none. */
  readonly kindSigns: readonly KindSign[]
  /** Number of Received fields (RFC 5321 §6.3). */
  readonly receivedCount: number
  /** Values of the first LOOP_MARKS_MAX X-Loop fields that are not longer than a mark can be. */
  readonly loopMarks: readonly string[]
  /** Whether a mailing list passed it on (RFC 2919). */
  readonly hasListId: boolean
  /** Free text of the header, a line each: display names, Reply-To, and fields that any program may fill. */
  readonly freeText: string
}

export type MimeMessage = {
  readonly headers: ParsedHeaders
  /** The text body; made from the HTML one when the message has no text. '' when it has neither. */
  readonly text: string
  readonly html: string
  readonly attachments: readonly ParsedAttachment[]
  readonly defects: readonly Defect[]
}

export type ParsedMessage = MimeMessage & {
  /** The new text of a reply, without the quoted history; forwards are left whole. */
  readonly extractedText: string
  /** Of its calendar files. */
  readonly invites: readonly Invite[]
  /** The index of the addresses that it mentions; null where the message itself has to be searched for one. */
  readonly mentions: string | null
}

/** In lower case, as in JSCalendar (RFC 8984). */
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
 * An event of a calendar file. Its times have one of three forms: with the offset from UTC
 * (`2026-12-01T10:00:00+01:00`), as a day (`2026-12-01`), or without an offset (`2026-12-01T10:00:00`).
 */
export type Invite = {
  /** Null for a file that only describes events. */
  readonly method: (typeof inviteMethods)[number] | null
  readonly uid: string | null
  readonly sequence: number
  /** The occurrence of a series that it is about, as the series has it. */
  readonly recurrenceId: string | null
  readonly start: string | null
  /** The first moment or day after the event. */
  readonly end: string | null
  /** The name of the zone in the IANA database; null for days, and for a zone that nobody knows by name. */
  readonly timezone: string | null
  readonly summary: string | null
  readonly location: string | null
  readonly organizer: Participant | null
  readonly attendees: Attendee[]
  /** The RRULE (RFC 5545 §3.3.10) of a series. */
  readonly recurrence: string | null
  readonly status: (typeof eventStatuses)[number] | null
  /** What an attendee wrote with a reply. */
  readonly comment: string | null
}

type Participant = { readonly name: string | null; readonly address: string }

type Attendee = Participant & {
  readonly status: (typeof attendeeStatuses)[number]
  readonly role: (typeof attendeeRoles)[number]
}
