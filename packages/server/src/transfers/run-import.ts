// Adds the messages of a file to the inbox. Each run reads the file from its start and skips
// messages that earlier runs have processed.

import { hash } from 'node:crypto'
import type { SkipReason } from '@mailroom/contract/transfers.ts'
import { readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { parseDateTime } from '@mailroom/mail/message-headers.ts'
import type { ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import { contentOf, keyOfBytes, mentionsOf, parentKeysOf } from '#inbound/receive/receive.ts'
import type { ImportedArrival } from '#inbound/receive/store/receive-messages.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { isLabel } from '#mailbox/labels/store/facets.ts'
import { NOT_SCANNED } from '#mailbox/messages/store/message-kind.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import { digestInSteps, ownBytes } from '#mailbox/messages/store/with-raw-bytes.ts'
import type { Parser } from '#parser/parser.ts'
import { ROW_BLOB_BYTES_MAX, removeBlobs } from '#platform/blobs/blob-store.ts'
import { addressKey, checkEmailAddress } from '#platform/email-address.ts'
import { derivedId } from '#platform/ids.ts'
import { storageErrorKind } from '#platform/problem.ts'
import { SENDER_PROOFS } from '#policy/store/send-policies.ts'
import type { Held } from '#queue/jobs.ts'
import { readChunks } from '#store/file-chunks.ts'
import type { Store } from '#store/store.ts'
import { addImported } from '#transfers/store/imports.ts'
import { finishTransfer, type ImportFailure, type ImportRow } from '#transfers/store/transfers.ts'
import { type ReadItem, readImport, type Stated } from './read-import.ts'
import type { Turn } from './run-export.ts'

export type ImportDeps = Store & { parser: Parser; storageQuota: StorageQuota }

const STEP_MESSAGES = 50
const STEP_BYTES = 2 * 1024 * 1024

type Numbered = { number: number; item: ReadItem }

/** Ends early when its turn is over or the lease is lost; a later call continues. */
export async function runImport(
  deps: ImportDeps,
  transfer: ImportRow,
  { held, isOver }: Turn,
): Promise<'finished' | 'left'> {
  const { db, storageQuota } = deps
  const { id: transferId, accountId, inboxId, details, sizeBytes } = transfer
  const finish = async (error: Parameters<typeof finishTransfer.run>[1]['error']) =>
    (await db.write(finishTransfer, { ...held(), error })) ? 'finished' : 'left'
  const inbox = await findInbox(db, accountId, inboxId)
  if (inbox === null) return finish('inbox_deleted')
  const file = readChunks(deps, { fileId: transferId, start: 0, end: sizeBytes })
  const steps = stepsOf(readImport(transfer.format, file), details.handled)
  for (;;) {
    let step: Numbered[]
    try {
      const next = await steps.next()
      if (next.done === true) return finish(null)
      step = next.value
    } catch (error) {
      // A storage failure is temporary; an unreadable file is not.
      if (storageErrorKind(error) !== null) throw error
      return finish('file_unreadable')
    }
    if (await isOver()) return 'left'
    if (await storageQuota.isExceeded(accountId)) return finish('storage_quota_reached')
    const outcome = await addStep(deps, { transfer, inbox, step, held: held() })
    if (outcome === 'inbox_deleted') return finish('inbox_deleted')
    if (outcome === 'lost') return 'left'
  }
}

/** Skips the first `handled` items. */
async function* stepsOf(
  items: AsyncGenerator<ReadItem>,
  handled: number,
): AsyncGenerator<Numbered[]> {
  let step: Numbered[] = []
  let bytes = 0
  let number = 0
  try {
    for await (const item of items) {
      number += 1
      if (number <= handled) continue
      step.push({ number, item })
      bytes += item.kind === 'message' ? item.raw.length : 0
      if (step.length < STEP_MESSAGES && bytes < STEP_BYTES) continue
      yield step
      step = []
      bytes = 0
    }
  } catch (error) {
    // Messages before the fault are added first.
    if (step.length > 0) yield step
    throw error
  }
  if (step.length > 0) yield step
}

type Step = {
  transfer: ImportRow
  inbox: Inbox
  step: readonly Numbered[]
  held: Held
}

async function addStep(
  deps: ImportDeps,
  { transfer, inbox, step, held }: Step,
): Promise<'added' | 'lost' | 'inbox_deleted'> {
  const failures: ImportFailure[] = []
  const arrivals: ImportedArrival[] = []
  const skips: SkipReason[] = []
  const prepared = await Promise.all(
    step.map(({ item }) =>
      item.kind !== 'message' ? item : prepare(deps, { transfer, inbox, item, nowMs: held.nowMs }),
    ),
  )
  for (const [index, { number, item }] of step.entries()) {
    const one = prepared[index]
    if (item.kind === 'skip') skips.push(item.reason)
    else if (one === undefined || 'reason' in one) {
      failures.push({ number, name: item.name, reason: one?.reason ?? '' })
    } else arrivals.push(one)
  }
  const blobs = deps.blobs
  const large = new Map<string, Uint8Array>()
  for (const { raw } of arrivals) {
    if (blobs === null || raw.content == null || raw.content.length <= ROW_BLOB_BYTES_MAX) continue
    large.set(raw.id, raw.content)
    raw.content = null
  }
  for (const [id, content] of large) await blobs?.put(id, content)
  const done = step.at(-1)?.item.end ?? 0
  const eventId = deps.makeId('evt')
  const imported = { ...held, done, arrivals, failures, skips, eventId }
  const outcome = await deps.db.write(addImported, imported)
  deps.wakeEvents()
  const kept = new Set(typeof outcome === 'string' ? [] : outcome.keptRawIds)
  await removeBlobs(
    deps,
    large
      .keys()
      .filter((id) => !kept.has(id))
      .toArray(),
  )
  return typeof outcome === 'string' ? outcome : 'added'
}

type Preparing = {
  transfer: ImportRow
  inbox: Inbox
  item: Extract<ReadItem, { kind: 'message' }>
  nowMs: number
}

async function prepare(
  deps: ImportDeps,
  { transfer, inbox, item, nowMs }: Preparing,
): Promise<ImportedArrival | { reason: string }> {
  const { raw, stated } = item
  if (raw.length === 0) return { reason: 'The message is empty.' }
  const sha256 = await digestInSteps(raw)
  const parsed = await deps.parser.parse(raw)
  const { headers } = parsed
  const { line } = stated
  const isOwn = addressKey(headers.from?.address ?? '') === addressKey(inbox.address)
  const direction = line?.direction ?? (isOwn ? 'outbound' : 'inbound')
  const reversePath = stated.reversePath ?? reversePathOf(raw) ?? headers.from?.address ?? ''
  const envelope = { sha256, reversePath, recipients: [inbox.address], authentication: null }
  const content = contentOf(parsed, { ...envelope, scanned: NOT_SCANNED })
  const to = line?.to ?? headers.to.map(({ address }) => address)
  const isFailed = line !== null && direction === 'outbound' && line.status !== 'sent'
  const status = direction === 'inbound' ? 'received' : isFailed ? 'failed' : 'sent'
  const receipt = {
    accountId: inbox.accountId,
    podId: inbox.podId,
    inboxId: inbox.id,
    messageId: deps.makeId('msg'),
    threadId: threadIdOf(transfer.id, line) ?? deps.makeId('thr'),
    eventId: '',
    toAddr: direction === 'inbound' ? inbox.address : (to[0] ?? ''),
    recipient: direction === 'inbound' ? (line?.recipient ?? null) : null,
    deliveryRole: roleOf(parsed, inbox),
  } as const
  return {
    raw: {
      id: deps.makeId('raw'),
      sha256,
      size_bytes: raw.length,
      content: ownBytes(raw),
      reverse_path: reversePath,
      client_address: null,
      helo: null,
      tls: null,
      origin: 'import',
      created_at: nowMs,
    },
    content: { ...content, receipt_key: content.receipt_key ?? keyOfBytes(sha256) },
    receipts: [receipt],
    parentKeys: parentKeysOf(headers),
    // An agent may have written the file, so it proves nothing about senders.
    senderKey: null,
    senderProof: SENDER_PROOFS.none,
    // Attachments of imported mail are extracted on request only.
    mentions: { ...mentionsOf(parsed, { readsFiles: () => false }), unreadFiles: [] },
    sourceId: stated.sourceId,
    labels: (line?.labels ?? stated.labels).filter(isLabel),
    threadLabels: (line?.threadLabels ?? stated.labels).filter(isLabel),
    spareThreadId: deps.makeId('thr'),
    nowMs,
    imported: {
      direction,
      status,
      failureReason: isFailed ? (line.failureReason ?? 'cancelled') : null,
      dateMs: Math.max(
        0,
        Math.min(nowMs, stated.dateMs ?? arrivalOf(raw) ?? headers.date ?? nowMs),
      ),
      isRead: stated.isRead ?? transfer.details.isRead,
      to: [...to],
      bcc: bccOf(line, headers),
      threadId: threadIdOf(transfer.id, line),
    },
  }
}

/** Programs keep the Bcc field in sent mail; our exports have it beside the message. */
function bccOf(line: Stated['line'], { bcc }: ParsedMessage['headers']): string[] {
  return [...new Set([...(line?.bcc ?? []), ...bcc.map(({ address }) => address)])]
}

/** The id is the same in every run of the import. */
function threadIdOf(transferId: string, line: Stated['line']): string | null {
  if (line === null || line.threadId === '') return null
  return derivedId('thr', transferId, hash('sha256', `${transferId} ${line.threadId}`, 'buffer'))
}

function roleOf({ headers }: ParsedMessage, inbox: Inbox): 'to' | 'cc' {
  const names = (mailboxes: typeof headers.to) =>
    mailboxes.some(({ address }) => addressKey(address) === addressKey(inbox.address))
  return !names(headers.to) && names(headers.cc) ? 'cc' : 'to'
}

function fieldOf(raw: Uint8Array, name: string): string | null {
  return readHeaderSection(raw).fields.find((field) => field.name === name)?.value ?? null
}

/** The newest Received field ends with its time (RFC 5321 §4.4). */
function arrivalOf(raw: Uint8Array): number | null {
  const received = fieldOf(raw, 'received')
  const at = received?.lastIndexOf(';') ?? -1
  return received === null || at === -1 ? null : parseDateTime(received.slice(at + 1).trim())
}

/** The server of the final delivery adds the Return-Path field (RFC 5321 §4.4). */
function reversePathOf(raw: Uint8Array): string | null {
  const path = /^\s*<?([^<>\s]*)>?\s*$/.exec(fieldOf(raw, 'return-path') ?? 'x x')?.[1] ?? null
  return path === null || path === '' || checkEmailAddress(path) === null ? path : null
}
