// Every transaction locks the inbox's counters first, as sending does.

import { dropRawReferences } from '#mailbox/messages/store/raw-messages.ts'
import { insertSend, type SendInput, type SendOutcome } from '#outbound/send/store/accept-send.ts'
import { findReplay } from '#outbound/send/store/idempotency-keys.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { type Draft, type DraftContent, type DraftFile, drafts } from '#store/nouns.ts'
import type { NewRow, ReadDb, Tx } from '#store/tables.ts'

const DRAFTS_PER_INBOX_MAX = 1_000
const FILES_MAX = 100
/** The number is small because a step also removes up to FILES_MAX raw messages of each draft. */
const PURGE_STEP_DRAFTS = 20
export const DRAFT_FILES_BYTES_MAX = 25 * 1024 * 1024

export type { Draft }

/** Null clears a field. */
export type DraftChange = { [Field in keyof DraftContent]?: DraftContent[Field] | null }

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
    // Counters are removed with the inbox. The caller must have checked the inbox's account.
    if (counters === null) return { kind: 'not_found' }
    const taken = await findTaken(tx, { inboxId, clientId, exceptId: null })
    if (taken !== null) return { kind: 'client_id_taken', draftId: taken }
    if (counters.draft_count >= DRAFTS_PER_INBOX_MAX) return { kind: 'too_many_drafts' }
    const content = contentOf(input.content)
    const files = input.files.map(({ file }) => file)
    const draft: Draft = {
      id: draftId,
      accountId,
      inboxId,
      clientId,
      version: 1,
      content,
      files,
      storedBytes: bytesOf(content, files),
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    }
    await insertRaws(tx, input.files)
    await tx.query.insertInto('drafts').values(drafts.write(draft)).execute()
    await changeCounters(tx, inboxId, { drafts: 1, bytes: draft.storedBytes })
    return { kind: 'draft', draft, blobIds: [] }
  },
})

type Which = {
  accountId: string
  draftId: string
  /** Null allows any version. */
  version: number | null
  nowMs: number
}

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
    const { clientId = found.clientId, nowMs } = input
    const { id: exceptId, inboxId } = found
    const taken = await findTaken(tx, { inboxId, clientId, exceptId })
    if (taken !== null) return { kind: 'client_id_taken', draftId: taken }
    const content = contentOf({ ...found.content, ...input.change })
    return updateDraft(tx, found, { clientId, content, updatedAtMs: nowMs })
  },
})

export const addDraftFile = transaction({
  name: 'addDraftFile',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: Which & { added: NewFile[] }): Promise<DraftOutcome> {
    const found = await lockDraft(tx, input)
    if ('kind' in found) return found
    const files = [...found.files, ...input.added.map(({ file }) => file)]
    if (files.length > FILES_MAX) return { kind: 'too_many_files' }
    const bytes = sizeOf(files)
    if (bytes > DRAFT_FILES_BYTES_MAX) return { kind: 'files_too_large', bytes }
    await insertRaws(tx, input.added)
    return updateDraft(tx, found, { files, updatedAtMs: input.nowMs })
  },
})

export const removeDraftFile = transaction({
  name: 'removeDraftFile',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, input: Which & { fileId: string }): Promise<DraftOutcome> {
    const found = await lockDraft(tx, input)
    if ('kind' in found) return found
    const removed = found.files.find(({ id }) => id === input.fileId)
    if (removed === undefined) return { kind: 'not_found' }
    const files = found.files.filter((file) => file !== removed)
    const outcome = await updateDraft(tx, found, { files, updatedAtMs: input.nowMs })
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
 * Accepts the send of this version of a draft and removes the draft. If the draft has changed or
 * was removed, returns the answer to an earlier send with the same key.
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

/** Returns null if the account has no such draft or its inbox was deleted. */
export async function findDraft(
  db: ReadDb,
  accountId: string,
  draftId: string,
): Promise<Draft | null> {
  const row = await selectDraft(db, { accountId, draftId }).executeTakeFirst()
  return row === undefined ? null : drafts.read(row)
}

/** Lists drafts newest first. */
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

/** Returns the raw messages of the removed drafts' files, and whether any drafts remain. */
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
    .returning(drafts.names)
    .execute()
  const rawIds = removed.flatMap((row) => rawIdsOf(drafts.read(row)))
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
): Promise<Draft | DraftRefusal> {
  const found = tx.query
    .selectFrom('drafts')
    .selectAll()
    .where('id', '=', draftId)
    .where('account_id', '=', accountId)
  const draft = await found.executeTakeFirst()
  if (draft === undefined || (await lockCounters(tx, draft.inbox_id)) === null) {
    return { kind: 'not_found' }
  }
  // Changes of a draft lock its inbox.
  const locked = await lockRows(tx, found).executeTakeFirst()
  if (locked === undefined) return { kind: 'not_found' }
  const isWanted = version === null || locked.version === version
  return isWanted ? drafts.read(locked) : { kind: 'draft_changed' }
}

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
  draft: Draft,
  given: Partial<Pick<Draft, 'clientId' | 'content' | 'files'>> & { updatedAtMs: number },
): Promise<Extract<DraftOutcome, { kind: 'draft' }>> {
  const { content, files } = { ...draft, ...given }
  const storedBytes = bytesOf(content, files)
  const change = { ...given, version: draft.version + 1, storedBytes }
  await tx.query
    .updateTable('drafts')
    .set(drafts.write(change))
    .where('id', '=', draft.id)
    .execute()
  await changeCounters(tx, draft.inboxId, { drafts: 0, bytes: storedBytes - draft.storedBytes })
  return { kind: 'draft', draft: { ...draft, ...change }, blobIds: [] }
}

async function deleteDraft(tx: Tx, draft: Draft): Promise<string[]> {
  await tx.query.deleteFrom('drafts').where('id', '=', draft.id).execute()
  await changeCounters(tx, draft.inboxId, { drafts: -1, bytes: -draft.storedBytes })
  return dropRawReferences(tx, rawIdsOf(draft))
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

function contentOf(fields: DraftChange): DraftContent {
  const given = Object.entries(fields).filter(([, value]) => value !== null)
  return Object.fromEntries(given)
}

function rawIdsOf({ files }: Draft): string[] {
  return files.map(({ rawId }) => rawId)
}

function sizeOf(files: readonly DraftFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0)
}

function bytesOf(content: DraftContent, files: readonly DraftFile[]): number {
  return Buffer.byteLength(JSON.stringify(content)) + sizeOf(files)
}
