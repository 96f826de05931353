// Sends mail with an Idempotency-Key, which makes repeating it harmless.

import type { BodyOf, ResponseOf } from '@mailroom/contract/operations.ts'
import { MailroomConnectionError, type MessageToSend } from '@mailroom/sdk'
import { replyTo, withEncodedFiles } from '@mailroom/sdk/sending.ts'
import type { Call } from '@mailroom/sdk/transport.ts'
import { Failure } from '#base/failure.ts'
import { openOutput } from '#base/output.ts'
import { readFilesToSend } from '#base/read-attachments.ts'
import { readPathOrInput, readTime } from '#base/read-input.ts'
import { findInbox, openSession, type Session } from '#base/session.ts'
import { show, showItem } from '#base/show.ts'
import { readHeaders } from '#commands/fields.ts'
import { chooseKey, noteKey } from './idempotency-key.ts'
import type { CommonOptions } from './run-operation.ts'

type TextOptions = {
  readonly text?: string
  readonly html?: string
  readonly file?: string
  readonly format?: MessageToSend['format']
  readonly signature: boolean
}

type OnceOptions = CommonOptions & { readonly idempotencyKey?: string }

type ContentOptions = OnceOptions &
  TextOptions & {
    readonly attach?: readonly string[]
    readonly cc?: string[]
    readonly bcc?: string[]
    readonly replyTo?: string
    readonly header?: readonly string[]
    readonly sendAt?: string
    readonly automatic?: boolean
    readonly invite?: MessageToSend['invite']
    readonly check?: true
  }

export type SendingOptions = ContentOptions & {
  readonly inbox?: string
  readonly to: string[]
  readonly subject: string
  readonly unsubscribe?: boolean
}

export type ReplyOptions = ContentOptions & {
  readonly to?: string[]
  readonly replyAll?: true
  readonly quote: boolean
}

export type ForwardOptions = OnceOptions &
  TextOptions & {
    readonly to: string[]
    readonly cc?: string[]
    readonly bcc?: string[]
    readonly attach?: readonly string[]
    readonly attachments: boolean
    readonly automatic?: boolean
  }

export async function sendMail(options: SendingOptions): Promise<void> {
  const session = await openSession(options)
  const content = await readContent(options)
  const { inbox, to, subject, unsubscribe } = options
  await send(
    session,
    await findInbox(session, inbox),
    { to, subject, unsubscribe, ...content },
    options,
  )
}

export async function replyToThread(threadId: string, options: ReplyOptions): Promise<void> {
  const session = await openSession(options)
  const content = await readContent(options)
  const { data } = await session.client.threads.messages(threadId)
  const answered = data.findLast(({ direction }) => direction === 'inbound') ?? data.at(-1)
  if (answered === undefined) throw new Failure('notFound', 'The thread has no messages.')
  const { to, replyAll, quote: includeQuote } = options
  const reply = { ...content, to, replyAll, includeQuote }
  await send(session, answered.inboxId, replyTo(answered, reply), options)
}

export async function forwardMail(messageId: string, options: ForwardOptions): Promise<void> {
  const session = await openSession(options)
  const { body, bodyHtml, format, includeSignature } = await readText(options)
  if (bodyHtml !== undefined) {
    throw new Failure('usage', 'The text is given twice.', 'Give --text or --html.')
  }
  const { to, cc, bcc, automatic: isAutomatic, attachments: includeAttachments } = options
  const attachments = await readFilesToSend(options.attach ?? [])
  const forward = withEncodedFiles({
    ...{ to, cc, bcc, body, format, includeSignature },
    ...{ includeAttachments, isAutomatic },
    ...(attachments.length > 0 && { attachments }),
  })
  const call = { id: 'messages.forward', path: { id: messageId }, body: forward } as const
  await sendOnce(session, call, options)
}

export async function answerInvite(
  messageId: string,
  response: BodyOf<'messages.rsvp'>['response'],
  options: OnceOptions & { readonly comment?: string },
): Promise<void> {
  const session = await openSession(options)
  const body = { response, comment: options.comment }
  await sendOnce(session, { id: 'messages.rsvp', path: { id: messageId }, body }, options)
}

async function send(
  session: Session,
  inboxId: string,
  message: MessageToSend,
  options: ContentOptions,
): Promise<void> {
  if (options.check) return check(session, inboxId, message, options)
  const body = withEncodedFiles(message)
  await sendOnce(session, { id: 'inboxes.send', path: { id: inboxId }, body }, options)
}

async function check(
  { client }: Session,
  inboxId: string,
  message: MessageToSend,
  { json, color }: CommonOptions,
): Promise<void> {
  const output = openOutput({ isColored: color })
  const checked = await client.inboxes.checkSend(inboxId, message)
  const { decision, reasons } = checked
  if (json) output.json(checked)
  else {
    showItem(output, { decision })
    show(output, { kind: 'list', columns: ['guard', 'detail'] }, { data: reasons })
  }
  if (decision !== 'reject') return
  throw new Failure(
    'refused',
    'The message would be refused.',
    'Change the parts named in the reasons.',
  )
}

async function sendOnce(
  session: Session,
  call: Pick<Call, 'id' | 'path' | 'body'>,
  { idempotencyKey, json, color }: OnceOptions,
): Promise<void> {
  const output = openOutput({ isColored: color })
  const key = chooseKey(output, idempotencyKey)
  const { headers, bytes } = await session.transport
    .send({
      ...call,
      headers: { 'idempotency-key': key },
      // With the same key, a retry never sends twice.
      isOnce: true,
    })
    .catch((error) => {
      if (error instanceof MailroomConnectionError) noteKey(output, key)
      throw error
    })
  const sent: ResponseOf<'inboxes.send'> = JSON.parse(new TextDecoder().decode(bytes))
  if (headers.get('idempotency-replayed') === 'true') {
    output.note('Already sent with this key; not sent again.')
  }
  if (sent.hold !== undefined) {
    output.note(
      `Held: an approver decides by ${sent.hold.expiresAt} whether to send it. Do not send it again.`,
    )
  }
  if (json) output.json(sent)
  else showItem(output, sent)
}

type Content = Omit<MessageToSend, 'to' | 'subject' | 'threadId'>

async function readContent(options: ContentOptions): Promise<Content> {
  const { attach = [], cc, bcc, replyTo: wanted, header, sendAt, automatic, invite } = options
  const { body, ...text } = await readText(options)
  if (body === undefined) {
    const fix = 'Give --text, --html, or --file with a path or "-" for standard input.'
    throw new Failure('usage', 'There is nothing to send.', fix)
  }
  const attachments = await readFilesToSend(attach)
  return {
    body,
    ...text,
    cc,
    bcc,
    replyTo: wanted,
    ...(header === undefined ? {} : { headers: readHeaders(header) }),
    sendAt: sendAt === undefined ? undefined : readTime(sendAt, { isPast: false }),
    isAutomatic: automatic,
    invite,
    ...(attachments.length > 0 && { attachments }),
  }
}

async function readText({ text, html, file, format, signature }: TextOptions) {
  if (file !== undefined && (text !== undefined || html !== undefined)) {
    throw new Failure('usage', 'The text is given twice.', 'Give --file, or --text and --html.')
  }
  const read = file === undefined ? undefined : (await readPathOrInput(file)).toString('utf8')
  return {
    body: text ?? html ?? read,
    bodyHtml: text === undefined ? undefined : html,
    format,
    includeSignature: signature ? undefined : false,
  }
}
