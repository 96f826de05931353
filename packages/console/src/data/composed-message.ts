// A message as the person composes it, and the fields of the draft that stores it.

import type { Message, Draft as SavedDraft } from '@mailroom/sdk'
import { localMinute } from './format.ts'
import { type Everybody, isWholeAddress, keyOf, splitRecipients } from './recipients.ts'
import { client } from './session.ts'

export type Draft = {
  readonly inboxId: string | null
  readonly replied: Message | null
  readonly forwarded: Message | null
  /** For a reply to all: its recipients, unless the person changes them. */
  readonly everybody: Everybody | null
  readonly to: string
  readonly cc: readonly string[]
  readonly subject: string
}

/** The message that the draft answers or forwards. */
export function aboutOf({ replied, forwarded }: Draft): Message | null {
  return replied ?? forwarded
}

/**
 * Begins the clientId of a stored forward, before the id of the forwarded message, which a draft
 * has no field for.
 */
export const forwardMark = 'console forward '

export type ComposedMessage = {
  /** The recipients as typed. */
  readonly to: string
  readonly cc: string
  readonly bcc: string
  readonly replyTo: string
  readonly subject: string
  readonly body: string
  readonly format: SavedDraft['format']
  readonly isQuoting: boolean
  /** Whether the files of the forwarded message are attached. */
  readonly isWithFiles: boolean
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
    format: 'auto',
    isQuoting: true,
    isWithFiles: true,
    sendAt: null,
  }
}

export function composedOfSaved(saved: SavedDraft, draft: Draft): ComposedMessage {
  const isToAll = draft.everybody !== null && saved.replyAll && saved.to.length === 0
  return {
    ...composedOf(draft),
    to: isToAll || saved.to.length === 0 ? draft.to : saved.to.join(', '),
    cc: isToAll ? draft.cc.join(', ') : saved.cc.join(', '),
    bcc: saved.bcc.join(', '),
    replyTo: saved.replyTo ?? '',
    subject: draft.replied === null ? (saved.subject ?? '') : draft.subject,
    body: saved.body ?? '',
    format: saved.format,
    isQuoting: saved.includeQuote,
    sendAt: saved.sendAt === null ? null : localMinute(new Date(saved.sendAt)),
  }
}

export type Fields = Omit<Parameters<typeof client.drafts.update>[1], 'threadId' | 'clientId'>

/** `isWhole` includes recipients that are not typed to their end. */
export function fieldsOf(
  composed: ComposedMessage,
  draft: Draft,
  { isWhole = false, isNewest = false } = {},
): Fields {
  const list = (text: string) =>
    splitRecipients(text).filter((one) => isWhole || isWholeAddress(one))
  const orNull = (entries: string[]) => (entries.length === 0 ? null : entries)
  const textOrNull = (text: string) => (text === '' ? null : text)
  const [to, cc] = [list(composed.to), list(composed.cc)]
  const { everybody } = draft
  const isToAll = everybody !== null && isNewest && reaches(everybody, { to, cc })
  const known = new Set(isToAll ? everybody.cc.map(keyOf) : [])
  return {
    to: isToAll ? null : orNull(to),
    cc: orNull(cc.filter((entry) => !known.has(keyOf(entry)))),
    replyAll: isToAll,
    bcc: orNull(list(composed.bcc)),
    replyTo: list(composed.replyTo)[0] ?? null,
    body: textOrNull(composed.body),
    format: composed.format,
    sendAt: timeOf(composed.sendAt),
    ...(draft.replied === null
      ? { subject: textOrNull(composed.subject.trim()) }
      : { includeQuote: composed.isQuoting }),
  }
}

/** The fields that differ. Recipients that replace each other change together. */
export function changesOf(wanted: Fields, stored: Fields): Fields {
  const names = Object.keys(wanted) as (keyof Fields)[]
  const differs = (name: keyof Fields) =>
    JSON.stringify(wanted[name]) !== JSON.stringify(stored[name])
  const together: readonly (keyof Fields)[] = ['to', 'cc', 'replyAll']
  const isMoved = together.some(differs)
  const changed = names.filter((name) => differs(name) || (isMoved && together.includes(name)))
  return Object.fromEntries(changed.map((name) => [name, wanted[name]]))
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

function timeOf(typed: string | null): string | null {
  const at = new Date(typed ?? '')
  return Number.isNaN(at.getTime()) ? null : at.toISOString()
}

export async function readFile(file: File) {
  return {
    filename: file.name,
    contentType: file.type === '' ? 'application/octet-stream' : file.type,
    data: new Uint8Array(await file.arrayBuffer()),
  }
}

/** How many of the thread's newest messages are searched for the newest received one. */
const LOOKED_AT = 20

/** Whether `replyAll`, which answers the newest received message, would answer this message. */
export async function isNewest({ replied, everybody }: Draft): Promise<boolean> {
  if (replied === null || everybody === null) return false
  const { messageCount } = await client.threads.get(replied.threadId)
  const offset = Math.max(0, messageCount - LOOKED_AT)
  const { data } = await client.threads.messages(replied.threadId, { offset, limit: LOOKED_AT })
  return data.findLast(({ direction }) => direction === 'inbound')?.id === replied.id
}
