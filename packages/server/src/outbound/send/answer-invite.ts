import { inviteResponseWords, untitledInvite } from '@mailroom/contract/vocabulary.ts'
import { parseAddressList } from '@mailroom/mail/address-list.ts'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import type { InviteAnswer, InviteReply } from '@mailroom/mail-reading/invites/write-calendar.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import { addressKey, checkEmailAddress, namesOf } from '#platform/email-address.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { SendMessage } from './compose-send.ts'
import { calendarFile } from './invite-to-send.ts'
import { sendMessage } from './send-message.ts'
import type { SendDeps } from './sender.ts'

type Answer = Pick<SendMessage, 'accountId' | 'idempotencyKey' | 'requestHash' | 'leaseTokenHash'> &
  Pick<InviteAnswer, 'response' | 'comment'> & { messageId: string }

/**
 * Throws what `sendMessage` does, and `not_found`, `no_invitation`, `invitation_cancelled`,
 * `not_invited` or `organizer_unverified`. Awaits `takeSlot` before it loads anything large.
 */
export async function answerInvite(
  deps: SendDeps,
  { messageId, response, comment, ...input }: Answer,
  takeSlot: () => Promise<void>,
): ReturnType<typeof sendMessage> {
  const { accountId } = input
  const message = await findMessage(deps.db, accountId, messageId, {
    before: takeSlot,
    lengthMax: 0,
  })
  const inbox = message && (await findInbox(deps.db, accountId, message.inboxId))
  if (message === null || inbox === null) throw notFound()
  if (message.direction !== 'inbound' || message.attachments.length === 0) {
    throw problem('no_invitation')
  }
  await takeSlot()
  const raw = await readRawBytes(deps, message.rawId)
  const addresses = [message.recipient ?? inbox.address, inbox.address].map(lowerCase)
  const nowMs = deps.clock.now()
  const reply = await deps.parser.replyToInvite(raw, { addresses, response, comment, nowMs })
  if (reply.kind !== 'reply') throw problem(REFUSALS[reply.kind])
  if (!isProven(message, reply.organizer)) throw problem('organizer_unverified')
  return sendMessage(deps, {
    ...input,
    inboxId: inbox.id,
    threadId: message.threadId,
    to: [reply.organizer],
    cc: [],
    bcc: [],
    names: namesOf(parseAddressList(message.fromAddr)),
    replyAll: false,
    headers: [],
    subject: null,
    body: textOf(reply, { response, comment }),
    bodyHtml: null,
    format: 'text',
    includeSignature: false,
    includeQuote: false,
    replyTo: null,
    attachments: [calendarFile(reply.calendar, 'reply')],
    hasUnsubscribe: false,
    isAutomatic: false,
    sendAtMs: null,
  })
}

const REFUSALS = {
  'no-invitation': 'no_invitation',
  cancelled: 'invitation_cancelled',
  'not-invited': 'not_invited',
} as const

function lowerCase(address: string): string {
  return address.toLowerCase()
}

/** Returns whether SPF or DKIM proves that the organizer wrote the message. */
function isProven({ authentication, fromAddr }: Message, organizer: string): boolean {
  const author = parseAddressList(fromAddr)[0]?.address
  const isVerified = (authentication as Authentication | null)?.verifiedFrom === true
  if (!isVerified || author === undefined || checkEmailAddress(organizer) !== null) return false
  return addressKey(author) === addressKey(organizer)
}

function textOf(
  { invite }: Extract<InviteReply, { kind: 'reply' }>,
  { response, comment }: Pick<Answer, 'response' | 'comment'>,
): string {
  const { summary, start, timezone } = invite
  const answered = `${inviteResponseWords[response]}: ${summary ?? untitledInvite}`
  const when = start === null ? '' : `\nWhen: ${start}${timezone === null ? '' : ` (${timezone})`}`
  return `${answered}${when}${comment === null ? '' : `\n\n${comment}`}\n`
}
