// Reads every message of an inbox over the API into the form in which messages are compared.

import { hash } from 'node:crypto'
import type { ReadAttachment, ReadMessage } from '@mailroom/mail-reading/test/corpus/compare.ts'
import type { Mailroom, Message } from '@mailroom/sdk'

export type FedAttachment = ReadAttachment & {
  /** Of the content with LF for every CRLF: as it stood in a file with such lines. */
  readonly sha256WithLineFeeds: string
}

export type FedBack = Omit<ReadMessage, 'attachments'> & {
  readonly attachments: readonly FedAttachment[]
}

/** Shown as the sender of a message without a From field. */
export const ENVELOPE_SENDER = 'feed@corpus.example'

const READERS = 4

/** Every message of the inbox with its attachments' hashes, by the SHA-256 of its raw form. */
export async function readBack(
  client: Mailroom,
  inboxId: string,
): Promise<ReadonlyMap<string, FedBack>> {
  const read = new Map<string, FedBack>()
  const messages = client.messages.list(inboxId)[Symbol.asyncIterator]()
  const reader = async () => {
    for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
      const { content } = await client.messages.raw(next.value.id)
      read.set(hash('sha256', content), await readMessage(next.value))
    }
  }
  await Promise.all(Array.from({ length: READERS }, reader))
  return read
}

async function readMessage(message: Message): Promise<FedBack> {
  const attachments: FedAttachment[] = []
  for (const { filename, contentType, sizeBytes, url } of message.attachments) {
    const response = await fetch(url)
    const content = new Uint8Array(await response.arrayBuffer())
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
    const withLineFeeds = Buffer.from(content).toString('latin1').replaceAll('\r\n', '\n')
    attachments.push({
      filename,
      contentType,
      sizeBytes,
      sha256: hash('sha256', content),
      sha256WithLineFeeds: hash('sha256', Buffer.from(withLineFeeds, 'latin1')),
    })
  }
  return {
    messageId: message.rfcMessageId,
    subject: message.subject,
    // The API does not show it; what it does to threads is tested elsewhere.
    inReplyTo: [],
    references: message.references,
    from: authorOf(message.fromAddr),
    to: message.headerTo === null ? [] : splitAddresses(message.headerTo),
    attachments,
  }
}

/** `Name <address>` or the bare address; none when the envelope's sender stands in. */
function authorOf(fromAddr: string): string[] {
  if (fromAddr === ENVELOPE_SENDER) return []
  const bracketed = /<([^<>]*)>$/.exec(fromAddr)
  return [bracketed?.[1] ?? fromAddr]
}

/** A quoted local part may hold the separator itself. */
function splitAddresses(joined: string): string[] {
  return joined.split(/, (?=(?:[^"]*"[^"]*")*[^"]*$)/)
}
