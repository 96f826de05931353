// A message as the person composes it, and the request that sends it.

import type { Mailroom, SendOptions, SentMessage } from '@mailroom/sdk'
import type { Picked } from '#parts/file-picker.tsx'
import type { Draft } from './open-draft.ts'
import { type Everybody, keyOf, splitRecipients } from './recipients.ts'
import { client } from './session.ts'

export type ComposedMessage = {
  /** The recipients as typed. */
  readonly to: string
  readonly cc: string
  readonly bcc: string
  readonly replyTo: string
  readonly subject: string
  readonly body: string
  readonly isQuoting: boolean
  /** Whether the files of the forwarded message are attached. */
  readonly isWithFiles: boolean
  readonly files: readonly Picked[]
  /** The time as typed, in the person's time zone; null to send immediately. */
  readonly sendAt: string | null
}

export function composedOf({ to, cc, subject }: Draft): ComposedMessage {
  return {
    to,
    cc: cc.join(', '),
    bcc: '',
    replyTo: '',
    subject,
    body: '',
    isQuoting: true,
    isWithFiles: true,
    files: [],
    sendAt: null,
  }
}

export type Sending = {
  inboxId: string
  composed: ComposedMessage
  draft: Draft
  /** Whether the draft answers the same message that `replyAll` would answer. */
  isNewest: boolean
}

export async function sendComposed(
  sender: Mailroom,
  sending: Sending,
  options: SendOptions,
): Promise<SentMessage> {
  const { composed, draft, inboxId } = sending
  if (draft.forwarded !== null) {
    const { to, cc, bcc, body, isWithFiles } = composed
    const forward = {
      to: splitRecipients(to),
      ...listOf('cc', cc),
      ...listOf('bcc', bcc),
      body,
      includeAttachments: isWithFiles,
    }
    return sender.messages.forward(draft.forwarded.id, forward, options)
  }
  const attachments = await Promise.all(composed.files.map(readFile))
  const message = {
    ...recipientsOf(sending),
    ...listOf('bcc', composed.bcc),
    body: composed.body,
    ...(composed.replyTo.trim() !== '' && { replyTo: composed.replyTo.trim() }),
    ...(attachments.length > 0 && { attachments }),
    ...(composed.sendAt !== null && { sendAt: new Date(composed.sendAt).toISOString() }),
    ...(draft.replied === null
      ? { subject: composed.subject.trim() }
      : { threadId: draft.replied.threadId, includeQuote: composed.isQuoting }),
  }
  return sender.inboxes.send(inboxId, message, options)
}

export function recipientsOf({ composed, draft: { everybody }, isNewest }: Sending) {
  const to = splitRecipients(composed.to)
  const cc = splitRecipients(composed.cc)
  if (everybody !== null && isNewest && reaches(everybody, { to, cc })) {
    const known = new Set(everybody.cc.map(keyOf))
    const more = cc.filter((entry) => !known.has(keyOf(entry)))
    return { replyAll: true, ...(more.length > 0 && { cc: more }) }
  }
  return { to, ...(cc.length > 0 && { cc }) }
}

/** Whether the message has every original recipient, and only Cc and Bcc were added. */
function reaches(everybody: Everybody, { to, cc }: Everybody): boolean {
  const [typedTo, typedCc] = [new Set(to.map(keyOf)), new Set(cc.map(keyOf))]
  return (
    typedTo.size === everybody.to.length &&
    everybody.to.every((address) => typedTo.has(keyOf(address))) &&
    everybody.cc.every((address) => typedCc.has(keyOf(address)))
  )
}

function listOf<Name extends 'cc' | 'bcc'>(name: Name, text: string) {
  const entries = splitRecipients(text)
  return entries.length === 0 ? {} : { [name]: entries }
}

export async function readFile({ file }: Pick<Picked, 'file'>) {
  return {
    filename: file.name,
    contentType: file.type === '' ? 'application/octet-stream' : file.type,
    data: new Uint8Array(await file.arrayBuffer()),
  }
}

/** How many of the thread's newest messages are searched for the newest received one. */
const LOOKED_AT = 20

/** Whether `replyAll`, which answers the newest received message, would answer this message. */
export async function isNewest({ replied }: Draft, signal: AbortSignal): Promise<boolean> {
  if (replied === null) return false
  const { messageCount } = await client.threads.get(replied.threadId, { signal })
  const offset = Math.max(0, messageCount - LOOKED_AT)
  const bounds = { offset, limit: LOOKED_AT, signal }
  const { data } = await client.threads.messages(replied.threadId, bounds)
  return data.findLast(({ direction }) => direction === 'inbound')?.id === replied.id
}
