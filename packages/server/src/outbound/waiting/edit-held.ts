// Edits a held message for an approver: composes it again, and lets the policy judge the new form.

import type { ReviewContent as ShownContent } from '@mailroom/contract/reviews.ts'
import type { HoldReason } from '@mailroom/contract/sending.ts'
import { type BodyFormat, type ReviewField, reviewFields } from '@mailroom/contract/vocabulary.ts'
import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { composeMessage } from '@mailroom/mail/compose/compose-message.ts'
import { isInternational } from '@mailroom/mail/compose/header-text.ts'
import { approverDeleted } from '#accounts/keys/keys.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import { namesColumn } from '#mailbox/messages/store/recipient-names.ts'
import { withRawBytes } from '#mailbox/messages/store/with-raw-bytes.ts'
import { rejectSend } from '#outbound/send/apply-policy.ts'
import { autoSubmitted, type Composition, checkCount } from '#outbound/send/compose-send.ts'
import { ownBodies } from '#outbound/send/own-bodies.ts'
import { checkSize, checkUnsubscribe, SIGNATURE_BYTES_MAX } from '#outbound/send/send-message.ts'
import { refusalOf, storageFull } from '#outbound/send/send-refusal.ts'
import { type SendDeps, sentRaw } from '#outbound/send/sender.ts'
import { hopMarkOf } from '#outbound/send/store/loop-marks.ts'
import { findSuppressed } from '#outbound/suppressions/store/suppressions.ts'
import { unsubscribeUrl } from '#outbound/unsubscribe/unsubscribe.ts'
import { type EditOutcome, editWaiting } from '#outbound/waiting/store/edit-waiting.ts'
import {
  type Approval,
  findWaiting,
  type WaitingEnvelope,
} from '#outbound/waiting/store/waiting-sends.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { addressKey, mailboxOf, type Names, namesOf } from '#platform/email-address.ts'
import { problem, wrongField } from '#platform/problem.ts'
import { judgeSend, type SendJudgement } from '#policy/policy.ts'
import { hashesColumn } from '#reviews/store/pending-reviews.ts'
import type { StoredReviewContent } from '#store/nouns.ts'
import { readFiles } from './judge-waiting.ts'
import {
  digestOf,
  equalKeyOf,
  hashAttachments,
  namedFields,
  type ReviewContent,
} from './review-content.ts'

/** Null leaves a field unchanged. */
export type HeldEdit = {
  to: string[] | null
  cc: string[] | null
  bcc: string[] | null
  names: Names
  subject: string | null
  /** The whole body, with the quote. It replaces the HTML too. */
  body: string | null
  bodyHtml: string | null
  /** Null for the format of the send if that is Markdown, otherwise `auto`. */
  format: BodyFormat | null
  removedFiles: readonly string[]
}

type Held = {
  inbox: Inbox
  message: Message
  envelope: WaitingEnvelope
  content: StoredReviewContent
}

/**
 * Returns false if the message is no longer held. Throws `review_changed`, or the refusal of the
 * policy, which leaves the message unchanged.
 */
export async function editHeld(
  deps: SendDeps,
  {
    accountId,
    messageId,
    approval,
    content,
    reasons,
    edit,
  }: {
    accountId: string
    messageId: string
    approval: Approval
    content: StoredReviewContent
    reasons: readonly HoldReason[]
    edit: HeldEdit
  },
): Promise<boolean> {
  const [waiting, message] = await Promise.all([
    findWaiting(deps.db, { accountId, messageId }),
    findMessage(deps.db, accountId, messageId),
  ])
  const inbox = waiting && (await findInbox(deps.db, accountId, waiting.inbox_id))
  if (waiting === null || inbox === null || message === null) return false
  const envelope = JSON.parse(waiting.envelope) as WaitingEnvelope
  const held = { inbox, message, envelope, content }
  const edited = await compose(deps, held, edit)
  const { subject, bodyText, bodyHtml } = message
  const before = { ...content, subject, bodyText, bodyHtml }
  const changed = changedFields(before, edited.content)
  if (changed.length === 0) return true
  const suppressed = await findSuppressed(deps.db, accountId, edited.recipients.map(addressKey))
  if (suppressed !== null) {
    const { type, address } = suppressed
    throw refusalOf(deps, { kind: 'suppressed', type, address })
  }
  const judged = await judge(deps, held, edited)
  const perHour = reasons.filter(({ guard }) => guard === 'maxPerHour')
  const outcome = await store(deps, held, {
    approval,
    edited,
    changed,
    before,
    reasons: [...judged.reasons, ...perHour],
    findingHashes: judged.findingHashes,
  })
  if (outcome.kind === 'review_changed') {
    throw problem('review_changed', undefined, { fields: { digest: outcome.digest } })
  }
  if (outcome.kind === 'approver_deleted') throw approverDeleted()
  if (outcome.kind === 'limit_reached') throw problem('review_limit_reached')
  if (outcome.kind === 'gone') return false
  await removeBlobs(deps, outcome.blobIds)
  deps.wakeEvents()
  return true
}

type Edited = {
  outgoing: Composition['outgoing']
  ownText: string | null
  to: string[]
  cc: string[]
  bcc: string[]
  recipients: string[]
  names: Names
  format: BodyFormat
  content: ReviewContent
}

async function compose(deps: SendDeps, held: Held, edit: HeldEdit): Promise<Edited> {
  const { message, envelope } = held
  const [to, cc, bcc] = [edit.to ?? message.to, edit.cc ?? message.cc, edit.bcc ?? message.bcc]
  const { replyTo, references } = message
  checkCount({ to, cc, bcc, replyAll: false }, 0)
  const byKey = new Map([...to, ...cc, ...bcc].map((address) => [addressKey(address), address]))
  const recipients = [...byKey.values()]
  const { hasUnsubscribe, isAutomatic, isReply, headers } = envelope
  checkUnsubscribe({ hasUnsubscribe, to, cc, bcc }, recipients)
  const known = new Map([...message.names, ...edit.names])
  const named = (address: string) => mailboxOf(known, address)
  const names = namesOf([...to, ...cc, ...(replyTo === null ? [] : [replyTo])].map(named))
  const [from = { name: '', address: held.inbox.address }] = parseAddressList(held.content.from)
  const attachments = await filesOf(deps, held, edit.removedFiles)
  const format = formatOf(envelope, edit)
  const bodies = await bodiesOf(deps, message, {
    ...{ ...edit, format, attachments },
    accountId: held.inbox.accountId,
  })
  const outgoing = {
    from,
    to: to.map(named),
    cc: cc.map(named),
    replyTo: replyTo === null ? null : named(replyTo),
    subject: edit.subject ?? message.subject,
    text: bodies.text,
    html: bodies.html,
    inReplyTo: references.at(-1) ?? null,
    references,
    extraFields: isAutomatic ? [autoSubmitted(isReply), ...headers] : headers,
    attachments,
  }
  const content = {
    ...held.content,
    ...namedFields({ to, cc, bcc, replyTo, names }),
    attachments: await hashAttachments(outgoing),
    subject: outgoing.subject,
    bodyText: outgoing.text,
    bodyHtml: outgoing.html,
  }
  return { outgoing, ownText: bodies.ownText, to, cc, bcc, recipients, names, format, content }
}

function formatOf({ format = 'auto' }: WaitingEnvelope, edit: HeldEdit): BodyFormat {
  if (edit.body === null || edit.format !== null) return edit.format ?? format
  return edit.bodyHtml === null && format === 'markdown' ? format : 'auto'
}

async function bodiesOf(
  deps: SendDeps,
  message: Message,
  {
    body,
    ...edit
  }: Pick<HeldEdit, 'body' | 'bodyHtml'> & {
    accountId: string
    format: BodyFormat
    attachments: Composition['outgoing']['attachments']
  },
) {
  if (body === null) {
    const { bodyText: text, bodyHtml: html, extractedText: ownText } = message
    return { text, html, ownText }
  }
  // The text of the message already contains its signature.
  const own = await ownBodies(deps, { ...edit, body, signature: null })
  return deps.parser.makeBodies({ ...own, quote: null })
}

async function filesOf(
  deps: SendDeps,
  { message, envelope }: Held,
  removed: readonly string[],
): Promise<Composition['outgoing']['attachments']> {
  const reviewed = envelope.attachments
  const names = new Set(reviewed.map(({ filename }) => filename))
  const missing = removed.findIndex((name) => !names.has(name))
  if (missing >= 0) {
    throw wrongField(`removeAttachments[${missing}]`, 'is not the filename of a file of the review')
  }
  if (reviewed.length === 0) return []
  const files = await readFiles(deps, await readRawBytes(deps, message.rawId), reviewed)
  if (files === null) throw unreadFiles()
  const { hasCalendar = true } = envelope
  const calendar = hasCalendar
    ? reviewed.findIndex(({ contentType }) => CALENDAR.test(contentType))
    : -1
  const paired = reviewed.map(({ filename, contentType, contentId, sha256 }, index) => {
    // Each file is taken once, because two may have the same content.
    const at = files.findIndex((one) => one.sha256 === sha256)
    const [file] = at < 0 ? [] : files.splice(at, 1)
    if (file === undefined) throw unreadFiles()
    const { content, isInline } = file
    return {
      filename,
      contentType,
      contentId,
      content,
      isInline,
      isAlternative: index === calendar,
    }
  })
  return paired.filter(({ filename }) => !removed.includes(filename))
}

function unreadFiles() {
  const text = 'The files of the message could not be read in time.'
  return problem('service_unavailable', text, { retryAfterSeconds: RETRY_AFTER_SECONDS })
}

const RETRY_AFTER_SECONDS = 5

/** The calendar of an invitation is another version of the body. */
const CALENDAR = /^text\/calendar; charset=utf-8; method=[A-Z]+; component=VEVENT$/

function changedFields(before: ReviewContent, after: ReviewContent): ReviewField[] {
  const values = (content: ReviewContent): Record<ReviewField, unknown> => ({
    to: content.to,
    cc: content.cc,
    bcc: content.bcc,
    subject: content.subject,
    body: content.bodyText,
    bodyHtml: content.bodyHtml,
    attachments: content.attachments.map(({ filename }) => filename),
  })
  const [old, now] = [values(before), values(after)]
  return reviewFields.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
}

async function judge(
  deps: SendDeps,
  held: Held,
  edited: Edited,
): Promise<Pick<SendJudgement, 'reasons' | 'findingHashes'>> {
  const { inbox, message, envelope } = held
  const { outgoing, to, cc, bcc, names, recipients } = edited
  const { subject, text, html, attachments, extraFields: headers } = outgoing
  const judgement = await judgeSend(deps, {
    inbox,
    readMessage: async () => ({
      ...{ to, cc, bcc, replyTo: message.replyTo, names, subject, text, html, headers },
      attachments,
      threadId: envelope.isReply ? message.threadId : null,
      forwardedThreadId: envelope.forwardedThreadId ?? null,
    }),
  })
  if (judgement?.decision === 'reject') {
    throw await rejectSend(deps, { inbox, recipients, messageId: message.id, judgement })
  }
  const { reasons = [], findingHashes = [] } = judgement ?? {}
  return { reasons, findingHashes }
}

async function store(
  deps: SendDeps,
  held: Held,
  {
    edited,
    reasons,
    findingHashes,
    ...edit
  }: {
    approval: Approval
    edited: Edited
    changed: ReviewField[]
    before: ShownContent
    reasons: HoldReason[]
    findingHashes: string[]
  },
): Promise<EditOutcome> {
  const { inbox, message, envelope } = held
  const { accountId, id: inboxId } = inbox
  const { outgoing, recipients, content } = edited
  const { raw, ...composed } = await composeRaw(deps, held, edited)
  checkSize(raw.length + SIGNATURE_BYTES_MAX)
  if (await deps.storageQuota.isFull(accountId)) throw storageFull(deps)
  const hasFiles = outgoing.attachments.length > 0
  const attachments = hasFiles ? (await deps.parser.parse(raw)).attachments : []
  const { subject: _, bodyText: __, bodyHtml: ___, ...stored } = content
  const needsSmtpUtf8 = composed.needsSmtpUtf8 || recipients.some(isInternational)
  const nowMs = deps.clock.now()
  return withRawBytes(deps, raw, {
    write: (row) =>
      deps.db.write(editWaiting, {
        accountId,
        inboxId,
        messageId: message.id,
        rawId: message.rawId,
        ...edit,
        raw: sentRaw(row, inbox, nowMs),
        message: { ...columnsOf(edited), attachments: JSON.stringify(attachments) },
        filenames: attachments.map(({ filename }) => filename),
        envelope: JSON.stringify({
          ...envelope,
          recipients,
          needsSmtpUtf8,
          attachments: content.attachments,
          format: edited.format,
        } satisfies WaitingEnvelope),
        review: {
          digest: digestOf(content),
          equal_key: equalKeyOf(content),
          content: JSON.stringify(stored),
          reasons: JSON.stringify(reasons),
          finding_hashes: hashesColumn(findingHashes),
        },
        eventId: deps.makeId('evt'),
        auditId: deps.makeId('aud'),
        nowMs,
      }),
    isKept: ({ kind }) => kind === 'edited',
  })
}

function composeRaw(deps: SendDeps, { inbox, message, envelope }: Held, edited: Edited) {
  const { accountId, id: inboxId } = inbox
  const [address = ''] = edited.recipients
  const messageId = message.id
  return composeMessage({
    ...edited.outgoing,
    messageId: message.rfcMessageId ?? '',
    dateMs: message.createdAtMs,
    hopMark: hopMarkOf(deps, inboxId),
    unsubscribeUrl: envelope.hasUnsubscribe
      ? unsubscribeUrl(deps, { accountId, address, messageId })
      : null,
  })
}

function columnsOf({ outgoing: { subject, text, html }, ownText, to, cc, bcc, names }: Edited) {
  return {
    to_addr: to[0] ?? '',
    to_addrs: JSON.stringify(to),
    cc: JSON.stringify(cc),
    bcc: bcc.length === 0 ? null : JSON.stringify(bcc),
    recipient_names: namesColumn(names),
    subject,
    body_length: text.length + html.length,
    body_text: text,
    body_html: html,
    extracted_text: ownText === text ? null : ownText,
  }
}
