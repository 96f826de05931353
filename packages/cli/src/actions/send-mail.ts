// Sends mail, with an Idempotency-Key that makes a repeat harmless.

import { randomUUID } from 'node:crypto'
import type { ResponseOf } from '@mailroom/contract/operations.ts'
import { MailroomConnectionError, type MessageToSend } from '@mailroom/sdk'
import { replyTo, withEncodedFiles } from '@mailroom/sdk/sending.ts'
import { Failure } from '#base/failure.ts'
import { type Output, openOutput } from '#base/output.ts'
import { readPathOrInput } from '#base/read-input.ts'
import { findInbox, openSession, type Session } from '#base/session.ts'
import { showItem } from '#base/show.ts'
import { readAttachments } from './attachments.ts'
import type { CommonOptions } from './run-operation.ts'

type ContentOptions = CommonOptions & {
  readonly text?: string
  readonly html?: string
  readonly file?: string
  readonly attach?: readonly string[]
  readonly cc?: string[]
  readonly replyTo?: string
  readonly idempotencyKey?: string
}

export type SendingOptions = ContentOptions & {
  readonly inbox?: string
  readonly to: string
  readonly subject: string
  readonly unsubscribe?: boolean
}

export type ReplyOptions = ContentOptions & { readonly to?: string; readonly quote: boolean }

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
  const last = data.at(-1)
  if (last === undefined) throw new Failure('notFound', 'The thread has no messages.')
  const reply = { ...content, to: options.to, includeQuote: options.quote }
  await send(session, last.inboxId, replyTo(last, reply), options)
}

async function send(
  session: Session,
  inboxId: string,
  message: MessageToSend,
  { idempotencyKey, json, color }: ContentOptions,
): Promise<void> {
  const output = openOutput({ isColored: color })
  const key = idempotencyKey ?? randomUUID()
  if (idempotencyKey === undefined) output.note(output.noteColors.dim(`Idempotency-Key: ${key}`))
  const { headers, bytes } = await session.transport
    .send({
      id: 'inboxes.send',
      path: { id: inboxId },
      body: withEncodedFiles(message),
      headers: { 'idempotency-key': key },
      // With the same key a retry never sends twice.
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
  if (json) output.json(sent)
  else showItem(output, sent)
}

function noteKey(output: Output, key: string): void {
  output.note(
    `No answer came, so the message may have been sent. Retrying with --idempotency-key ${key} never sends twice.`,
  )
}

type Content = Pick<MessageToSend, 'body' | 'bodyHtml' | 'cc' | 'replyTo' | 'attachments'>

async function readContent(options: ContentOptions): Promise<Content> {
  const { text, html, file, attach = [], cc, replyTo: wanted } = options
  if (file !== undefined && (text !== undefined || html !== undefined)) {
    throw new Failure('usage', 'The text is given twice.', 'Give --file, or --text and --html.')
  }
  const read = file === undefined ? undefined : (await readPathOrInput(file)).toString('utf8')
  const body = text ?? html ?? read
  if (body === undefined) {
    const fix = 'Give --text, --html, or --file with a path or "-" for standard input.'
    throw new Failure('usage', 'There is nothing to send.', fix)
  }
  const attachments = await readAttachments(attach)
  return {
    body,
    bodyHtml: text === undefined ? undefined : html,
    cc,
    replyTo: wanted,
    ...(attachments.length > 0 && { attachments }),
  }
}
