// Explains at the field concerned why a message was not sent.

import { MailroomError } from '@mailroom/sdk'
import type { ComposedMessage } from './composed-message.ts'
import { describeFailure, type Failure } from './failure.ts'
import { formatMoment, formatRelative } from './format.ts'
import { keyOf, splitRecipients } from './recipients.ts'

type Sending = { composed: ComposedMessage; hasFiles: boolean }

type Finding = { kind: string; part: string; offset: number; length: number }

/** The service has already sent a different message with the draft's key. */
export function isSentBefore(error: unknown): boolean {
  return error instanceof MailroomError && error.code === 'idempotency_key_reused'
}

export const sentBefore: Failure = {
  message: 'Your earlier attempt was sent after all, with its content at that time.',
  fix: 'Your later changes have not been sent. Check the thread before you send them as another message.',
  fields: {},
  isGone: false,
}

export function describeSendFailure(error: unknown, sending: Sending): Failure {
  const described = describeFailure(error)
  if (!(error instanceof MailroomError)) return described
  const { recipient = error.body.address, findings, scope, limit, resetsAt } = error.body
  if (typeof recipient === 'string') {
    const field = fieldOf(recipient, sending.composed)
    return { ...described, fields: { [field]: error.message } }
  }
  if (Array.isArray(findings)) return { ...described, fields: fieldsOfFindings(findings, sending) }
  if (typeof scope === 'string' && typeof resetsAt === 'string') {
    const field = error.code === 'cold_outreach_limit' ? 'to' : 'from'
    const until = `${formatRelative(resetsAt)} (${formatMoment(resetsAt)})`
    const words = `The limit of the ${scope} is ${limit}. More can be sent ${until}.`
    return { ...described, fields: { [field]: words } }
  }
  return error.details.length === 0 ? described : describeMistakes(error, sending)
}

function describeMistakes(error: MailroomError, sending: Sending): Failure {
  const fields: Record<string, string> = {}
  for (const { path, message } of error.details) {
    const [, name = path, index] = /^(\w+)\[(\d+)\]$/.exec(path) ?? []
    const entry = index === undefined ? '' : `“${entryAt(sending, name, Number(index))}” `
    fields[name] = `${name in fields ? `${fields[name]}; ` : ''}${entry}${message}`
  }
  return {
    message: 'The message was not sent: correct the fields marked below.',
    fix: Object.keys(fields).every((name) => name in sending.composed) ? null : error.message,
    fields,
    isGone: false,
  }
}

function entryAt({ composed }: Sending, name: string, index: number): string {
  const { to, cc, bcc } = composed
  const typed = Object.entries({ to, cc, bcc }).find(([list]) => list === name)?.[1] ?? ''
  return splitRecipients(typed)[index] ?? ''
}

/** The field in which the address was typed; `to` for an address that the service added. */
function fieldOf(address: string, composed: ComposedMessage): 'to' | 'cc' | 'bcc' | 'replyTo' {
  const isIn = (text: string) =>
    splitRecipients(text).some((entry) => keyOf(entry) === keyOf(address))
  const names = ['to', 'cc', 'bcc', 'replyTo'] as const
  return names.find((name) => isIn(composed[name])) ?? 'to'
}

function fieldsOfFindings(findings: readonly Finding[], { hasFiles }: Sending) {
  if (findings.length === 0) {
    return hasFiles ? { files: 'No files may be attached.' } : {}
  }
  const fields: Record<string, string> = {}
  for (const { kind, part, offset, length } of findings) {
    const name = part === 'subject' ? 'subject' : part.startsWith('attachment') ? 'files' : 'body'
    const place = name === 'files' ? ` in ${part.replace(':', ' ')}` : ''
    const words = `${kind.replaceAll('_', ' ')}${place}, from character ${offset + 1}, ${length} long`
    fields[name] = name in fields ? `${fields[name]}; ${words}` : `Not permitted: ${words}`
  }
  return fields
}
