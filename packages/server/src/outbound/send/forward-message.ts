import { ATTACHMENTS_MAX } from '@mailroom/contract/sending.ts'
import { forwardSubject } from '@mailroom/mail/compose/header-text.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import { withName } from '#platform/email-address.ts'
import { notFound, problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import type { SendMessage } from './compose-send.ts'
import { checkSize, sendMessage } from './send-message.ts'
import type { SendDeps } from './sender.ts'

type Forward = Pick<
  SendMessage,
  | 'accountId'
  | 'idempotencyKey'
  | 'requestHash'
  | 'leaseTokenHash'
  | 'cc'
  | 'bcc'
  | 'names'
  | 'body'
  | 'bodyHtml'
  | 'format'
  | 'includeSignature'
  | 'attachments'
  | 'isAutomatic'
> & {
  messageId: string
  to: string[]
  includesFiles: boolean
}

/**
 * Throws what `sendMessage` does, `not_found` if the message is deleted or in quarantine, and
 * `payload_too_large`. Awaits `takeSlot` before it loads files.
 */
export async function forwardMessage(
  deps: SendDeps,
  { messageId, includesFiles, attachments: added, ...input }: Forward,
  takeSlot: () => Promise<void>,
): ReturnType<typeof sendMessage> {
  const { accountId } = input
  const message = await findMessage(deps.db, accountId, messageId, { before: takeSlot })
  if (message === null) throw notFound()
  const hasFiles = includesFiles && message.attachments.length > 0
  if (hasFiles) {
    checkFiles(message, added)
    await takeSlot()
  }
  return sendMessage(deps, {
    ...input,
    inboxId: message.inboxId,
    subject: forwardSubject(message.subject),
    threadId: null,
    replyAll: false,
    headers: [],
    includeQuote: false,
    replyTo: null,
    attachments: [...(hasFiles ? await filesOf(deps, message) : []), ...added],
    hasUnsubscribe: false,
    sendAtMs: null,
    forwarded: forwardedOf(message, hasFiles),
  })
}

function checkFiles({ attachments }: Message, added: SendMessage['attachments']): void {
  const count = attachments.length + added.length
  if (count > ATTACHMENTS_MAX) {
    const text = `The message would have ${count} files; at most ${ATTACHMENTS_MAX} are allowed.`
    throw problem('payload_too_large', text, { fix: WITHOUT_FILES })
  }
  const bytes = [
    ...attachments.map(({ sizeBytes }) => sizeBytes),
    ...added.map(({ content }) => content.length),
  ]
  const sizes = bytes.map(encodedLength)
  checkSize(
    sizes.reduce((sum, size) => sum + size, 0),
    WITHOUT_FILES,
  )
}

const WITHOUT_FILES =
  'Forward it with includeAttachments false, and attach the files that you need.'

function encodedLength(bytes: number): number {
  return Math.ceil(bytes / 3) * 4
}

async function filesOf(deps: SendDeps, message: Message): Promise<SendMessage['attachments']> {
  const raw = await readRawBytes(deps, message.rawId)
  const files = await deps.parser.readAttachments(raw)
  const names = files.map(({ attachment }) => attachment.filename)
  // A parser that runs out of time finds fewer files than the message lists.
  if (names.join('\n') !== message.attachments.map(({ filename }) => filename).join('\n')) {
    const text = 'The files of the message could not be read in time.'
    throw problem('service_unavailable', text, { retryAfterSeconds: RETRY_AFTER_SECONDS })
  }
  return files.map(({ attachment: { filename, contentType, contentId, isInline }, content }) => ({
    filename,
    contentType,
    content,
    contentId,
    isInline: isInline && contentId !== null,
  }))
}

/** Omits Bcc, so that the hidden recipients of a sent message stay hidden. */
function forwardedOf(message: Message, hasFiles: boolean): NonNullable<SendMessage['forwarded']> {
  const { fromAddr, to, cc, names, subject, createdAtMs, threadId } = message
  const named = (address: string) => withName(names, address)
  const lines = [
    { name: 'From', value: fromAddr },
    { name: 'Date', value: new Date(createdAtMs).toUTCString().replace('GMT', '+0000') },
    { name: 'Subject', value: subject },
    { name: 'To', value: to.map(named).join(', ') },
    { name: 'Cc', value: cc.map(named).join(', ') },
  ]
  const header = lines.filter(({ value }) => value !== '')
  return { header, text: message.bodyText, html: message.bodyHtml, hasFiles, threadId }
}
