// The guards of a policy: each looks at a message that is about to be sent, and says what it notices.

import type { HoldReason } from '@mailroom/contract/sending.ts'
import type { GuardName } from '@mailroom/contract/vocabulary.ts'
import { parseAddressList } from '@mailroom/mail/address-list.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { readRawBytes } from '#mailbox/mailbox.ts'
import { findThread } from '#mailbox/mailbox-rows.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { addressKey } from '#platform/email-address.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import {
  findWriters,
  findWrittenTo,
  readThreadMessages,
  SENDER_PROOFS,
  type ThreadMessage,
} from './send-policy-rows.ts'

export type GuardDeps = {
  db: Db
  blobs: BlobStore | null
  parser: Parser
  /** Null in the sandbox, where no mail leaves the machine. */
  carrier: object | null
}

/** What will really be sent: after the derivation of recipients, with the quote. */
export type JudgedMessage = {
  to: readonly string[]
  cc: readonly string[]
  bcc: readonly string[]
  replyTo: string | null
  subject: string
  text: string
  html: string
  /** Further header fields. */
  headers: readonly { readonly name: string; readonly value: string }[]
  /** Null where they cannot be read. */
  attachments:
    | readonly {
        readonly filename: string
        readonly contentType: string
        readonly content: Uint8Array
      }[]
    | null
  /** Null for a new thread. */
  threadId: string | null
  /** Of a forward, the thread of the message that it passes on; else null. */
  forwardedThreadId: string | null
}

/** A recipient, or where replies go. */
export type JudgedAddress = {
  readonly address: string
  readonly key: string
}

type Guarded = {
  inbox: Inbox
  message: JudgedMessage
  /** Addresses that no rule names; a rule that allows one lets it pass. */
  unruled: readonly JudgedAddress[]
}

/** Throws when it cannot tell, and the message is held. */
type Guard = (deps: GuardDeps, guarded: Guarded) => Promise<Omit<HoldReason, 'guard'>[]>

/** A thread that is longer, or whose mail is larger, is not read whole: its message is held. */
const THREAD_MESSAGES_MAX = 5_000
const THREAD_BYTES_MAX = 64 * 1024 * 1024

export const guards: Readonly<Record<GuardName, Guard>> = {
  async newRecipients(deps, { inbox, unruled }) {
    const strangers = others(unruled, inbox)
    const keys = strangers.map(({ key }) => key)
    const writers = await findProvenWriters(deps, inbox, keys)
    const written = await findWrittenTo(deps.db, inbox.id, keys)
    return strangers
      .filter(({ key }) => !writers.has(key) && !written.has(key))
      .map(({ address: recipient }) => ({
        detail: `${recipient} has never written to the inbox, and the inbox has never written to it.`,
        recipient,
      }))
  },

  async provenance(deps, { inbox, message, unruled }) {
    const threadId = message.threadId ?? message.forwardedThreadId
    if (threadId === null || unruled.length === 0) return []
    const keys = others(unruled, inbox).map(({ key }) => key)
    const writers = await findProvenWriters(deps, inbox, keys)
    const thread = await readThread(deps, inbox, threadId)
    const sentTo = keysOf(
      thread.filter(({ isReceived }) => !isReceived),
      ({ to, cc, bcc }) => [...to, ...cc, ...bcc],
    )
    const wanted = new Set(keys.filter((key) => !writers.has(key) && !sentTo.has(key)))
    const found = await findInjected(deps, thread, wanted)
    // Removed mail may have told the others first.
    if (found.size < wanted.size && (await hasLostMail(deps, inbox, threadId))) {
      throw new Error('Mail of the thread was removed, so it is not read whole.')
    }
    return unruled
      .filter(({ key }) => found.has(key))
      .map(({ address: recipient }) => ({
        detail: `The address ${recipient} comes from inside received mail of the thread. Its owner has never written to the inbox.`,
        recipient,
      }))
  },

  async outsideThread({ db, ...deps }, { inbox, message, unruled }) {
    if (message.threadId === null || unruled.length === 0) return []
    const thread = await readThread({ db, ...deps }, inbox, message.threadId)
    const proven = thread.filter(({ isProven }) => isProven)
    const inThread = keysOf(proven, ({ from, to, cc, replyTo }) => [
      from,
      ...to,
      ...cc,
      replyTo ?? '',
    ])
    return others(unruled, inbox)
      .filter(({ key }) => !inThread.has(key))
      .map(({ address: recipient }) => ({
        detail: `${recipient} is in no From, To, Cc or Reply-To field of the thread.`,
        recipient,
      }))
  },

  async secrets({ parser }, { inbox, message }) {
    const { subject, text, html } = message
    const attachments = filesOf(message)
    const fields = fieldTexts(inbox, message).filter((field) => field.text !== '')
    const found = await Promise.all([
      parser.findSecrets({ subject, text, html, attachments }),
      ...fields.map(async (field) => {
        const asked = { subject: '', text: field.text, html: '', attachments: [] }
        const findings = await parser.findSecrets(asked)
        return findings?.map((one) => ({ ...one, part: field.part })) ?? null
      }),
    ])
    const all = found.flatMap((findings) => {
      if (findings === null) throw new Error('The message was not read whole.')
      return findings
    })
    if (all.length === 0) return []
    const kinds = [...new Set(all.map(({ kind }) => kind))].join(', ')
    return [{ detail: `The message contains secrets: ${kinds}.`, findings: all }]
  },

  async attachments(_deps, { message }) {
    const attachments = filesOf(message)
    if (attachments.length === 0) return []
    const count = attachments.length === 1 ? 'a file' : `${attachments.length} files`
    return [{ detail: `The message has ${count} attached.` }]
  },
}

function filesOf({ attachments }: JudgedMessage) {
  if (attachments === null) throw new Error('The files of the message were not read.')
  return attachments
}

/** The header fields that a caller chooses, and the envelope, as texts to be searched. */
function fieldTexts(
  { displayName, address }: Inbox,
  { to, cc, bcc, replyTo, headers }: JudgedMessage,
): { part: string; text: string }[] {
  const lines = headers.map(({ name, value }) => `${name.replace(/^(?:x|list)-/i, '')}\n${value}`)
  return [
    { part: 'headers', text: lines.join('\n') },
    { part: 'from', text: `${displayName ?? ''} <${address}>` },
    { part: 'to', text: to.join(', ') },
    { part: 'cc', text: cc.join(', ') },
    { part: 'bcc', text: bcc.join(', ') },
    { part: 'replyTo', text: replyTo ?? '' },
  ]
}

/**
 * Those who have written to the inbox. Anybody can write a name into From, so SPF or DKIM has to prove it; in the sandbox
 * nothing can. What an API key has released from quarantine never counts.
 */
function findProvenWriters(
  { db, carrier }: GuardDeps,
  { id: inboxId }: Inbox,
  keys: readonly string[],
): Promise<Set<string>> {
  const proofMin = carrier === null ? SENDER_PROOFS.claimed : SENDER_PROOFS.verified
  return findWriters(db, { inboxId, proofMin }, keys)
}

/** Without the inbox itself. */
function others(addresses: readonly JudgedAddress[], inbox: Inbox): readonly JudgedAddress[] {
  const own = addressKey(inbox.address)
  return addresses.filter(({ key }) => key !== own)
}

async function readThread(
  { db }: GuardDeps,
  { accountId }: Inbox,
  threadId: string,
): Promise<ThreadMessage[]> {
  const asked = { accountId, threadId, limit: THREAD_MESSAGES_MAX }
  const thread = await readThreadMessages(db, asked)
  if (thread === null) throw new Error('The thread is too long to be read whole.')
  return thread
}

async function hasLostMail(
  { db }: GuardDeps,
  { accountId }: Inbox,
  threadId: string,
): Promise<boolean> {
  const thread = await findThread(db, accountId, threadId)
  return thread === null || thread.extent.removedCount > 0
}

/** Keys of the addresses in these fields. */
function keysOf(
  messages: readonly ThreadMessage[],
  fieldsOf: (message: ThreadMessage) => readonly string[],
): Set<string> {
  const addresses = messages.flatMap((message) =>
    fieldsOf(message).flatMap((field) => parseAddressList(field).map(({ address }) => address)),
  )
  return new Set(addresses.map(addressKey))
}

/** Those of the keys whose addresses the thread tells first in the content of a received message. */
async function findInjected(
  deps: GuardDeps,
  thread: readonly ThreadMessage[],
  keys: ReadonlySet<string>,
): Promise<Set<string>> {
  const unseen = new Set(keys)
  const injected = new Set<string>()
  let readBytes = 0
  for (const { isReceived, rawId, sizeBytes } of thread) {
    if (unseen.size === 0) break
    readBytes += sizeBytes
    if (readBytes > THREAD_BYTES_MAX) throw new Error('The mail of the thread is too large.')
    const raw = await readRawBytes(deps, rawId)
    const mentioned = await deps.parser.findMentions(raw, [...unseen])
    if (mentioned === null) throw new Error('A message of the thread was not read whole.')
    for (const key of mentioned) {
      unseen.delete(key)
      // What the inbox itself told first, an answer only repeats.
      if (isReceived) injected.add(key)
    }
  }
  return injected
}
