// Drafts, to and from rows. Each transaction locks the counters of the inbox first, as those that send do.

import type { BodyOf } from '@mailroom/contract/operations.ts'
import { dropRawReferences } from '#mailbox/mailbox-rows.ts'
import {
  findReplay,
  insertSend,
  type SendInput,
  type SendOutcome,
} from '#outbound/outbound-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import type { NewRow, ReadDb, Row, Tx } from '#schema/tables.ts'

const DRAFTS_PER_INBOX_MAX = 1_000
const FILES_MAX = 100
/** A deleted draft has up to FILES_MAX raw messages, which are removed in the same step. */
const PURGE_STEP_DRAFTS = 20
export const DRAFT_FILES_BYTES_MAX = 25 * 1024 * 1024

/** The fields of a send, as its body has them; `to` is a list. */
type DraftContent = Omit<BodyOf<'drafts.create'>, 'attachments' | 'clientId' | 'to'> & {
  to?: string[]
}

/** Null clears a field. */
export type DraftChange = { [Field in keyof DraftContent]?: DraftContent[Field] | null }

export type DraftFile = {
  id: string
  filename: string
  contentType: string
  size: number
  contentId: string | null
  /** The raw message that is its bytes. */
  rawId: string
}

export type Draft = {
  id: string
  accountId: string
  inboxId: string
  clientId: string | null
  version: number
  content: DraftContent
  files: DraftFile[]
  createdAtMs: number
  updatedAtMs: number
}

export type NewFile = { file: DraftFile; raw: Omit<NewRow<'raw_messages'>, 'reference_count'> }

export type DraftRefusal =
  | { kind: 'not_found' }
  | { kind: 'draft_changed' }
  | { kind: 'client_id_taken'; draftId: string }
  | { kind: 'too_many_drafts' }
  | { kind: 'too_many_files' }
  | { kind: 'files_too_large'; bytes: number }

export type DraftOutcome = { kind: 'draft'; draft: Draft; blobIds: string[] } | DraftRefusal

export const insertDraft = transaction({
  name: 'createDraft',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: {
      draftId: string
      accountId: string
      inboxId: string
      clientId: string | null
      content: DraftChange
      files: NewFile[]
      nowMs: number
    },
  ): Promise<DraftOutcome> {
    const { draftId, accountId, inboxId, clientId, nowMs } = input
    const counters = await lockCounters(tx, inboxId)
    // Counters are removed with the inbox; the caller has read that it is the account's.
    if (counters === null) return { kind: 'not_found' }
    const taken = await findTaken(tx, { inboxId, clientId, exceptId: null })
    if (taken !== null) return { kind: 'client_id_taken', draftId: taken }
    if (counters.draft_count >= DRAFTS_PER_INBOX_MAX) return { kind: 'too_many_drafts' }
    const content = contentOf(input.content)
    const files = input.files.map(({ file }) => file)
    const row = {
      id: draftId,
      account_id: accountId,
      inbox_id: inboxId,
      client_id: clientId,
      version: 1,
      content,
      attachments: JSON.stringify(files),
      stored_bytes: bytesOf(content, files),
      created_at: nowMs,
      updated_at: nowMs,
    }
    await insertRaws(tx, input.files)
    await tx.query.insertInto('drafts').values(row).execute()
    await changeCounters(tx, inboxId, { drafts: 1, bytes: row.stored_bytes })
    return { kind: 'draft', draft: toDraft(row), blobIds: [] }
  },
})

type Which = {
  accountId: string
  draftId: string
  /** The version that is changed; null: whichever there is. */
  version: number | null
  nowMs: number
}

/** Changes the named fields; null clears. */
export const changeDraft = transaction({
  name: 'updateDraft',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: Which & {
      change: DraftChange
      clientId?: string | null
    },
  ): Promise<DraftOutcome> {
    const found = await lockDraft(tx, input)
    if ('kind' in found) return found
    const { clientId = found.client_id } = input
    const place = { inboxId: found.inbox_id, clientId, exceptId: found.id }
    const taken = await findTaken(tx, place)
    if (taken !== null) return { kind: 'client_id_taken', draftId: taken }
    const content = contentOf({ ...JSON.parse(found.content), ...input.change })
    return updateDraft(tx, found, { client_id: clientId, content, updated_at: input.nowMs })
  },
})

export const addDraftFile = transaction({
  name: 'addDraftFile',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: Which & { added: NewFile[] }): Promise<DraftOutcome> {
    const found = await lockDraft(tx, input)
    if ('kind' in found) return found
    const files = [...filesOf(found), ...input.added.map(({ file }) => file)]
    if (files.length > FILES_MAX) return { kind: 'too_many_files' }
    const bytes = sizeOf(files)
    if (bytes > DRAFT_FILES_BYTES_MAX) return { kind: 'files_too_large', bytes }
    await insertRaws(tx, input.added)
    const attachments = JSON.stringify(files)
    return updateDraft(tx, found, { attachments, updated_at: input.nowMs })
  },
})

export const removeDraftFile = transaction({
  name: 'removeDraftFile',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, input: Which & { fileId: string }): Promise<DraftOutcome> {
    const found = await lockDraft(tx, input)
    if ('kind' in found) return found
    const files = filesOf(found)
    const removed = files.find(({ id }) => id === input.fileId)
    if (removed === undefined) return { kind: 'not_found' }
    const attachments = JSON.stringify(files.filter((file) => file !== removed))
    const change = { attachments, updated_at: input.nowMs }
    const outcome = await updateDraft(tx, found, change)
    return { ...outcome, blobIds: await dropRawReferences(tx, [removed.rawId]) }
  },
})

export const removeDraft = transaction({
  name: 'deleteDraft',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, input: Which): Promise<{ kind: 'deleted'; blobIds: string[] } | DraftRefusal> {
    const found = await lockDraft(tx, input)
    return 'kind' in found ? found : { kind: 'deleted', blobIds: await deleteDraft(tx, found) }
  },
})

export type DraftSendOutcome = {
  outcome: SendOutcome | { kind: 'draft_changed' }
  blobIds: string[]
}

/**
 * Accepts the send of this version of a draft, and removes the draft with it. Where the draft has changed or is gone,
 * an earlier send under the same key is repeated.
 */
export const sendDraft = transaction({
  name: 'sendDraft',
  accountOf: ({ send }) => send.accountId,
  async run(
    tx: Tx,
    { draftId, version, send }: { draftId: string; version: number; send: SendInput },
  ): Promise<DraftSendOutcome> {
    const { accountId } = send
    const found = await lockDraft(tx, { accountId, draftId, version })
    if ('kind' in found) {
      return { outcome: (await findReplay(tx, send.use)) ?? { kind: 'draft_changed' }, blobIds: [] }
    }
    const outcome = await insertSend.run(tx, send)
    const isAccepted = outcome.kind === 'queued' || outcome.kind === 'waiting'
    return { outcome, blobIds: isAccepted ? await deleteDraft(tx, found) : [] }
  },
})

/** Null when the account has no such draft, or its inbox was deleted. */
export async function findDraft(
  db: ReadDb,
  accountId: string,
  draftId: string,
): Promise<Draft | null> {
  const row = await selectDraft(db, { accountId, draftId }).executeTakeFirst()
  return row === undefined ? null : toDraft(row)
}

/** The ids of the newest drafts first. */
export async function listDraftIds(
  db: ReadDb,
  input: { accountId: string; inboxId: string; limit: number; offset: number },
): Promise<{ ids: string[]; total: number }> {
  const rows = await db.read
    .selectFrom('drafts')
    .select('id')
    .where('account_id', '=', input.accountId)
    .where('inbox_id', '=', input.inboxId)
    .orderBy('id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const counters = await db.read
    .selectFrom('inbox_counters')
    .select('draft_count')
    .where('inbox_id', '=', input.inboxId)
    .executeTakeFirst()
  return { ids: rows.map(({ id }) => id), total: counters?.draft_count ?? 0 }
}

/** Removes drafts of a deleted inbox; returns the raw messages of their files, and whether there may be more. */
export async function purgeDraftsOf(
  tx: Tx,
  inboxId: string,
): Promise<{ rawIds: string[]; isDone: boolean }> {
  const removed = await tx.query
    .deleteFrom('drafts')
    .where('id', 'in', (row) =>
      row
        .selectFrom('drafts')
        .select('id')
        .where('inbox_id', '=', inboxId)
        .limit(PURGE_STEP_DRAFTS),
    )
    .returning('attachments')
    .execute()
  const rawIds = removed.flatMap((row) => filesOf(row).map(({ rawId }) => rawId))
  return { rawIds, isDone: removed.length === 0 }
}

function selectDraft(db: ReadDb, { accountId, draftId }: { accountId: string; draftId: string }) {
  return db.read
    .selectFrom('drafts')
    .innerJoin('inboxes', 'inboxes.id', 'drafts.inbox_id')
    .selectAll('drafts')
    .where('drafts.id', '=', draftId)
    .where('drafts.account_id', '=', accountId)
}

async function lockCounters(tx: Tx, inboxId: string): Promise<{ draft_count: number } | null> {
  const counters = tx.query
    .selectFrom('inbox_counters')
    .select('draft_count')
    .where('inbox_id', '=', inboxId)
  return (await lockRows(tx, counters).executeTakeFirst()) ?? null
}

async function lockDraft(
  tx: Tx,
  { accountId, draftId, version }: Pick<Which, 'accountId' | 'draftId' | 'version'>,
): Promise<Row<'drafts'> | DraftRefusal> {
  const drafts = tx.query
    .selectFrom('drafts')
    .selectAll()
    .where('id', '=', draftId)
    .where('account_id', '=', accountId)
  const draft = await drafts.executeTakeFirst()
  if (draft === undefined || (await lockCounters(tx, draft.inbox_id)) === null) {
    return { kind: 'not_found' }
  }
  // Whoever changes a draft has the lock of its inbox.
  const locked = await lockRows(tx, drafts).executeTakeFirst()
  if (locked === undefined) return { kind: 'not_found' }
  return version === null || locked.version === version ? locked : { kind: 'draft_changed' }
}

/** The id of another draft of the inbox with this `clientId`. */
async function findTaken(
  tx: Tx,
  {
    inboxId,
    clientId,
    exceptId,
  }: { inboxId: string; clientId: string | null; exceptId: string | null },
): Promise<string | null> {
  if (clientId === null) return null
  const draft = await tx.query
    .selectFrom('drafts')
    .select('id')
    .where('inbox_id', '=', inboxId)
    .where('client_id', '=', clientId)
    .executeTakeFirst()
  return draft === undefined || draft.id === exceptId ? null : draft.id
}

async function insertRaws(tx: Tx, files: NewFile[]): Promise<void> {
  for (const { raw } of files) {
    await tx.query
      .insertInto('raw_messages')
      .values({ ...raw, reference_count: 1 })
      .execute()
  }
}

async function updateDraft(
  tx: Tx,
  draft: Row<'drafts'>,
  change: Partial<Pick<Row<'drafts'>, 'client_id' | 'content' | 'attachments'>> & {
    updated_at: number
  },
): Promise<Extract<DraftOutcome, { kind: 'draft' }>> {
  const changed = { ...draft, ...change, version: draft.version + 1 }
  changed.stored_bytes = bytesOf(changed.content, filesOf(changed))
  const { client_id, content, attachments, version, stored_bytes, updated_at } = changed
  await tx.query
    .updateTable('drafts')
    .set({ client_id, content, attachments, version, stored_bytes, updated_at })
    .where('id', '=', draft.id)
    .execute()
  const bytes = stored_bytes - draft.stored_bytes
  await changeCounters(tx, draft.inbox_id, { drafts: 0, bytes })
  return { kind: 'draft', draft: toDraft(changed), blobIds: [] }
}

/** Returns the blobs of its files. */
async function deleteDraft(tx: Tx, draft: Row<'drafts'>): Promise<string[]> {
  await tx.query.deleteFrom('drafts').where('id', '=', draft.id).execute()
  await changeCounters(tx, draft.inbox_id, { drafts: -1, bytes: -draft.stored_bytes })
  return dropRawReferences(
    tx,
    filesOf(draft).map(({ rawId }) => rawId),
  )
}

async function changeCounters(
  tx: Tx,
  inboxId: string,
  { drafts, bytes }: { drafts: 1 | 0 | -1; bytes: number },
): Promise<void> {
  await tx.query
    .updateTable('inbox_counters')
    .set((row) => ({
      draft_count: row('draft_count', '+', drafts),
      stored_bytes: row('stored_bytes', '+', bytes),
    }))
    .where('inbox_id', '=', inboxId)
    .execute()
}

function contentOf(fields: DraftChange): string {
  const given = Object.entries(fields).filter(([, value]) => value !== null)
  return JSON.stringify(Object.fromEntries(given))
}

function filesOf({ attachments }: Pick<Row<'drafts'>, 'attachments'>): DraftFile[] {
  return JSON.parse(attachments)
}

function sizeOf(files: readonly DraftFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0)
}

function bytesOf(content: string, files: readonly DraftFile[]): number {
  return Buffer.byteLength(content) + sizeOf(files)
}

function toDraft(row: Row<'drafts'>): Draft {
  return {
    id: row.id,
    accountId: row.account_id,
    inboxId: row.inbox_id,
    clientId: row.client_id,
    version: row.version,
    content: JSON.parse(row.content),
    files: filesOf(row),
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
  }
}
