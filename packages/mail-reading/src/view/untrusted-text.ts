// Everything of a message that its sender decides, as one text: the header fields that matter, the
// body, the names of its files. It is what stands within the fence.

import { kilobytes } from './link-text.ts'
import { type Removal, RemovalTally } from './removal.ts'
import { stripInvisible } from './strip-invisible.ts'
import type { ViewedMessage } from './viewed-message.ts'

/** Of a field such as Subject, in code points, and of a list of addresses, entries. */
const VIEW_FIELD_LENGTH_MAX = 500
const VIEW_ADDRESSES_MAX = 20
const VIEW_ATTACHMENTS_MAX = 50

export type UntrustedText = {
  readonly text: string
  /** What was left out of the fields and the body. */
  readonly removed: readonly Removal[]
}

/** Alike each time for the same message. */
export function untrustedText(message: ViewedMessage): UntrustedText {
  const tally = new RemovalTally()
  for (const { kind, characters } of message.body.removed) tally.add(kind, characters)
  const line = (text: string) => oneLine(text, tally)
  const fields = [
    `From: ${line(message.from)}`,
    `To: ${line(addresses(message.to.split(', ')))}`,
    ...(message.cc.length === 0 ? [] : [`Cc: ${line(addresses(message.cc))}`]),
    ...(hasOtherReplyTo(message)
      ? [`Reply-To: ${line(addresses((message.replyTo ?? '').split(', ')))}`]
      : []),
    `Subject: ${line(message.subject)}`,
  ]
  const files = message.attachments
    .slice(0, VIEW_ATTACHMENTS_MAX)
    .map(
      ({ filename, contentType, sizeBytes }) =>
        `- ${line(filename)} (${line(contentType)}, ${kilobytes(sizeBytes)})`,
    )
  const more = message.attachments.length - files.length
  if (more > 0) files.push(`- and ${more} more`)
  const body = message.body.text === '' ? [] : ['', message.body.text]
  const list = files.length === 0 ? [] : ['', 'Attachments:', ...files]
  return { text: [...fields, ...body, ...list].join('\n'), removed: tally.list() }
}

/** Whether answers go elsewhere than to where the message says it comes from. */
export function hasOtherReplyTo({ from, replyTo }: ViewedMessage): boolean {
  if (replyTo === null || replyTo === '') return false
  const bare = /<([^<>]*)>\s*$/.exec(from)?.[1] ?? from
  return replyTo.trim().toLowerCase() !== bare.trim().toLowerCase()
}

function addresses(all: readonly string[]): string {
  const shown = all.slice(0, VIEW_ADDRESSES_MAX)
  const more = all.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function oneLine(text: string, tally: RemovalTally): string {
  const plain = stripInvisible(text, tally).replace(/\s+/g, ' ').trim().toWellFormed()
  const points = Array.from(plain.slice(0, 2 * VIEW_FIELD_LENGTH_MAX + 2))
  if (points.length <= VIEW_FIELD_LENGTH_MAX) return plain
  return `${points.slice(0, VIEW_FIELD_LENGTH_MAX).join('')}…`
}
