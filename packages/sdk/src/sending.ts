// Messages to send: files as bytes or base64, and replies addressed by the message they answer.

import type { Message } from '@mailroom/contract/messages.ts'
import type { BodyOf } from '@mailroom/contract/operations.ts'
import type {
  SentMessage as AcceptedMessage,
  AttachmentToSend,
} from '@mailroom/contract/sending.ts'
import type { RequestOptions } from './transport.ts'

type Described = Pick<AttachmentToSend, 'filename' | 'contentType' | 'contentId'>
type Named = Described & { filename: string }

/** A file to attach: its content, as bytes or a base64 string, an upload, or a file of a message. */
export type FileToSend =
  | (Named & {
      contentType: string
      data: Uint8Array | string
      uploadId?: undefined
      messageId?: undefined
    })
  | (Described & { uploadId: string; data?: undefined; messageId?: undefined })
  | (Named & { messageId: string; data?: undefined; uploadId?: undefined })

type WithFiles<Body> = Omit<Body, 'attachments'> & { attachments?: readonly FileToSend[] }

export type MessageToSend = WithFiles<BodyOf<'inboxes.send'>>
export type DraftToCreate = WithFiles<BodyOf<'drafts.create'>>
export type MailToReceive = WithFiles<BodyOf<'sandbox.receive'>>
export type MessageToForward = WithFiles<BodyOf<'messages.forward'>>

/** A reply goes to the sender of the original message unless `to` is given. */
export type ReplyToSend = Omit<MessageToSend, 'threadId'>

/** The fields of a message that determine where a reply goes. */
export type RepliedMessage = Pick<Message, 'threadId' | 'fromAddr'> &
  Partial<
    Pick<Message, 'direction' | 'toAddr' | 'headerTo' | 'deliveryRole' | 'replyTo' | 'recipient'>
  >

export type SendOptions = RequestOptions & {
  /** Sending again with the same key has no effect. Default: a new UUID. */
  idempotencyKey?: string
}

export type SentMessage = AcceptedMessage & {
  /** Whether the message waits for the decision of an approver (`hold`). Do not send it again. */
  isHeld: boolean
}

export function withIsHeld(message: AcceptedMessage): SentMessage {
  return { ...message, isHeld: Boolean(message.hold) }
}

export function withEncodedFiles(body: MessageToSend): BodyOf<'inboxes.send'>
export function withEncodedFiles(body: DraftToCreate): BodyOf<'drafts.create'>
export function withEncodedFiles(body: MailToReceive): BodyOf<'sandbox.receive'>
export function withEncodedFiles(body: MessageToForward): BodyOf<'messages.forward'>
export function withEncodedFiles<Body extends object>(
  body: Body & { attachments?: readonly FileToSend[] },
): object {
  const { attachments, ...fields } = body
  if (attachments === undefined) return fields
  return {
    ...fields,
    attachments: attachments.map(withEncodedData),
  }
}

export function withEncodedData(file: FileToSend): BodyOf<'drafts.addAttachment'> {
  const { data, ...fields } = file
  if (data === undefined) return fields
  return { ...fields, data: data instanceof Uint8Array ? encodeBase64(data) : data }
}

/**
 * The reply as a message of its thread. It goes to the address where the sender wants replies,
 * unless that is the inbox itself. If the inbox was only copied, it goes to the address that the
 * sender wrote to; for a message of the inbox itself, to its recipient.
 */
export function replyTo(message: RepliedMessage, reply: ReplyToSend): MessageToSend {
  const to = reply.to ?? (reply.replyAll ? undefined : replyRecipient(message))
  return { ...reply, ...(to === undefined ? {} : { to }), threadId: message.threadId }
}

export function replyRecipient(message: RepliedMessage): string {
  const { direction, toAddr, deliveryRole, headerTo, replyTo: wanted, fromAddr } = message
  if (direction === 'outbound' && toAddr !== undefined) return toAddr
  if (deliveryRole === 'cc' && headerTo) return listOf(headerTo)[0] ?? headerTo
  const own = [toAddr, message.recipient].map((address) => inboxOf(address ?? ''))
  const other = listOf(wanted ?? '').find((address) => !own.includes(inboxOf(address)))
  return other ?? bareAddress(fromAddr)
}

const ADDRESS = /\s*(?:"(?:[^"\\]|\\.)*"@)?[^,]+/g

/** Splits addresses joined by ", "; a quoted local part may contain a comma too. */
function listOf(addresses: string): string[] {
  return [...addresses.matchAll(ADDRESS)].map(([address]) => address.trim())
}

/** The address for comparison, without its tag, because tagged mail reaches the same inbox. */
function inboxOf(address: string): string {
  return address.toLowerCase().replace(/^([^+]+)\+.*(@[^@]*)$/, '$1$2')
}

function bareAddress(text: string): string {
  return /<([^<>]*)>\s*$/.exec(text)?.[1] ?? text.trim()
}

/** A multiple of three, so that the encoded pieces can be joined. */
const PIECE_BYTES = 24_576

function encodeBase64(bytes: Uint8Array): string {
  const pieces: string[] = []
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    pieces.push(btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES))))
  }
  return pieces.join('')
}
