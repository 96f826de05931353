// Reports as other mail systems write them, about mail that a test sent.

const BOUNDARY = '=_report'

export type BouncedMail = {
  /** The address of the report: the reverse-path of the reported message. */
  to: string
  /** The recipient in the report; null names nobody. */
  recipient: string | null
  originalRecipient?: string
  /** Null leaves the field out. */
  action?: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded' | null
  status?: string
  diagnostic?: string
  /** Fields of the returned message. */
  messageId?: string
  /** Fields of the report itself. */
  headers?: readonly string[]
}

/** RFC 3464, with all its parts. */
export function bounceMail(fields: BouncedMail): string {
  const { to, recipient, action = 'failed', status = '5.1.1' } = fields
  const { diagnostic = `smtp; 550 ${status} No such user here` } = fields
  const lines = [
    ...(fields.originalRecipient === undefined
      ? []
      : [`Original-Recipient: rfc822;${fields.originalRecipient}`]),
    ...(recipient === null ? [] : [`Final-Recipient: rfc822; ${recipient}`]),
    ...(action === null ? [] : [`Action: ${action}`]),
    `Status: ${status}`,
    `Diagnostic-Code: ${diagnostic}`,
  ]
  return report({
    to,
    from: 'Mail Delivery System <MAILER-DAEMON@mx.friend.example>',
    subject: action === 'failed' ? 'Undelivered Mail Returned to Sender' : 'Delivery status',
    type: 'delivery-status',
    words: 'This is the mail system. Your message could not be delivered as you wished.',
    status: ['Reporting-MTA: dns; mx.friend.example', '', ...lines],
    returned: fields.messageId,
    headers: fields.headers,
  })
}

export type ComplainedMail = {
  to: string
  feedbackType?: string
  recipient?: string | null
  mailFrom?: string
  messageId?: string
  /** X-Loop and Return-Path of the returned message. */
  mark?: string
  returnPath?: string
  headers?: readonly string[]
}

/** RFC 5965. */
export function complaintMail(fields: ComplainedMail): string {
  const { to, feedbackType = 'abuse', recipient = null, mailFrom } = fields
  return report({
    to,
    from: 'Feedback loop <fbl@friend.example>',
    subject: 'Complaint',
    type: 'feedback-report',
    words: 'This is an email abuse report.',
    status: [
      `Feedback-Type: ${feedbackType}`,
      'User-Agent: Loop/1.0',
      'Version: 1',
      ...(mailFrom === undefined ? [] : [`Original-Mail-From: <${mailFrom}>`]),
      ...(recipient === null ? [] : [`Original-Rcpt-To: <${recipient}>`]),
    ],
    returned: fields.messageId,
    fields: [
      ...(fields.mark === undefined ? [] : [`X-Loop: ${fields.mark}`]),
      ...(fields.returnPath === undefined ? [] : [`Return-Path: <${fields.returnPath}>`]),
    ],
    headers: fields.headers,
  })
}

function report(parts: {
  to: string
  from: string
  subject: string
  type: string
  words: string
  status: string[]
  returned: string | undefined
  /** More fields of the returned message. */
  fields?: readonly string[]
  headers?: readonly string[] | undefined
}): string {
  const returned =
    parts.returned === undefined
      ? []
      : [
          `--${BOUNDARY}`,
          'Content-Type: message/rfc822',
          '',
          `Message-ID: ${parts.returned}`,
          ...(parts.fields ?? []),
          'Subject: A subject',
          '',
          'A body.',
        ]
  return [
    ...(parts.headers ?? []),
    `From: ${parts.from}`,
    `To: <${parts.to}>`,
    `Subject: ${parts.subject}`,
    `Message-ID: <${Math.random().toString(36).slice(2)}@mx.friend.example>`,
    'Date: Fri, 20 Nov 2026 09:00:00 +0000',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=${parts.type}; boundary="${BOUNDARY}"`,
    '',
    `--${BOUNDARY}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    parts.words,
    '',
    `--${BOUNDARY}`,
    `Content-Type: message/${parts.type}`,
    '',
    ...parts.status,
    '',
    ...returned,
    '',
    `--${BOUNDARY}--`,
    '',
  ].join('\r\n')
}
