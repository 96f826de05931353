import type { Draft as DraftShape } from '@mailroom/contract/drafts.ts'
import type { BodyOf } from '@mailroom/contract/operations.ts'
import { findAccount } from '#accounts/store/accounts.ts'
import { fixOfLimit } from '#config/limit-fix.ts'
import {
  addDraftFile,
  changeDraft,
  DRAFT_FILES_BYTES_MAX,
  type Draft,
  type DraftChange,
  type DraftOutcome,
  type DraftRefusal,
  findDraft,
  insertDraft,
  listDraftIds,
  type NewFile,
  removeDraft,
  removeDraftFile,
} from '#drafts/store/drafts.ts'
import type { Answered, AttachedFile, Context, HandlersOf } from '#http/handler.ts'
import { isAnyMatch, isMatch } from '#http/if-match.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { withRawBytes } from '#mailbox/messages/store/with-raw-bytes.ts'
import { findThread } from '#mailbox/threads/store/threads.ts'
import { presentSent, readExtraHeaders, readSendAt } from '#outbound/outbound.ts'
import {
  checkCount,
  checkReplyTo,
  checkSendAt,
  noThread,
  readInvite,
  requireOneHtml,
  type SendDeps,
  sentRaw,
} from '#outbound/send/send.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { presentTime } from '#platform/clock.ts'
import { bareAddress } from '#platform/email-address.ts'
import { type AppError, notFound, problem } from '#platform/problem.ts'
import { drafts } from '#store/nouns.ts'
import { readGivenFiles } from '#uploads/uploads.ts'
import { etagOf, getDraft, sendStoredDraft } from './send-draft.ts'

export function draftHandlers(deps: SendDeps): HandlersOf<'drafts'> {
  return {
    'drafts.create': async ({ path, body }, { accountId, takeSlot }) => {
      const { attachments: given, clientId = null, ...fields } = body
      const inbox = await getInbox(deps, accountId, path.id)
      await requireStorage(deps, accountId)
      const content = readChange(deps, fields)
      await checkChange(deps, inbox, { change: content, merged: content })
      const [draftId, nowMs] = [deps.makeId('drf'), deps.clock.now()]
      const attachments = await readGivenFiles(deps, { accountId, files: given, takeSlot })
      const made = { draftId, accountId, inboxId: inbox.id, clientId, content, nowMs }
      return answerOf(
        201,
        await withFiles(deps, { inbox, attachments, nowMs }, (files) =>
          deps.db.write(insertDraft, { ...made, files }),
        ),
      )
    },
    'drafts.list': async ({ path, query }, { accountId, takeSlot }) => {
      await getInbox(deps, accountId, path.id)
      await takeSlot()
      const { ids, total } = await listDraftIds(deps.db, { accountId, inboxId: path.id, ...query })
      return { data: presentEach(deps, accountId, ids), total }
    },
    'drafts.get': async ({ path }, { accountId, takeSlot }) => {
      await takeSlot()
      return answerWith(200, await getDraft(deps, accountId, path.id))
    },
    'drafts.update': async ({ path, body }, { accountId, headers }) => {
      const { draft, which } = await choose(deps, { accountId, draftId: path.id, headers })
      const { clientId, ...fields } = body
      const change = readChange(deps, fields)
      const inbox = await getInbox(deps, accountId, draft.inboxId)
      const merged = { ...draft.content, ...change }
      if (lengthOf(merged) > lengthOf(draft.content)) await requireStorage(deps, accountId)
      await checkChange(deps, inbox, { change, merged })
      const named = clientId === undefined ? {} : { clientId }
      return answerOf(200, await deps.db.write(changeDraft, { ...which, change, ...named }))
    },
    'drafts.delete': async ({ path }, { accountId, headers }) => {
      const { which } = await choose(deps, { accountId, draftId: path.id, headers })
      const outcome = await deps.db.write(removeDraft, which)
      if (outcome.kind !== 'deleted') throw refusalOf(outcome)
      await removeBlobs(deps, outcome.blobIds)
    },
    'drafts.addAttachment': async ({ path, body }, { accountId, headers, takeSlot }) => {
      const { draft, which } = await choose(deps, { accountId, draftId: path.id, headers })
      await requireStorage(deps, accountId)
      const inbox = await getInbox(deps, accountId, draft.inboxId)
      const one = { accountId, files: [body], takeSlot, within: '' }
      const given = { inbox, attachments: await readGivenFiles(deps, one), nowMs: which.nowMs }
      return answerOf(
        201,
        await withFiles(deps, given, (added) => deps.db.write(addDraftFile, { ...which, added })),
      )
    },
    'drafts.removeAttachment': async ({ path }, { accountId, headers }) => {
      const { which } = await choose(deps, { accountId, draftId: path.id, headers })
      const fileId = path.attachmentId
      const outcome = await deps.db.write(removeDraftFile, { ...which, fileId })
      if (outcome.kind === 'draft') await removeBlobs(deps, outcome.blobIds)
      return answerOf(200, outcome)
    },
    'drafts.send': async ({ path }, { takeSlot, ...context }) => {
      await takeSlot()
      const { isReplay, response } = await sendStoredDraft(deps, path.id, context)
      return { isReplay, body: presentSent(response) }
    },
  }
}

async function getInbox(deps: SendDeps, accountId: string, inboxId: string): Promise<Inbox> {
  const inbox = await findInbox(deps.db, accountId, inboxId)
  if (inbox === null) throw notFound()
  return inbox
}

async function choose(
  deps: SendDeps,
  {
    accountId,
    draftId,
    headers,
  }: { accountId: string; draftId: string; headers: Context['headers'] },
) {
  const draft = await getDraft(deps, accountId, draftId)
  const wanted = headers['if-match']
  if (!isMatch(wanted, etagOf(draft))) throw problem('draft_changed')
  const version = isAnyMatch(wanted) ? null : draft.version
  return { draft, which: { accountId, draftId, version, nowMs: deps.clock.now() } }
}

function lengthOf(content: object): number {
  return JSON.stringify(content).length
}

async function requireStorage({ storageQuota }: SendDeps, accountId: string): Promise<void> {
  if (!(await storageQuota.isFull(accountId))) return
  throw problem('draft_limit_reached', 'The storage of the account is full.', {
    fix: fixOfLimit(
      'storedBytesPerAccount',
      'Delete inboxes, drafts or exports that are no longer needed.',
    ),
  })
}

type Fields = Omit<BodyOf<'drafts.update'>, 'clientId'>

/** Throws `bad_request` under the same conditions as a send. */
function readChange(deps: SendDeps, { to, headers, sendAt, ...fields }: Fields): DraftChange {
  readExtraHeaders(headers ?? {})
  readInvite(fields.invite ?? undefined)
  const sendAtMs = readSendAt(sendAt ?? undefined)
  checkSendAt(deps, sendAtMs)
  return {
    ...fields,
    ...(to === undefined ? {} : { to: to === null ? null : [to].flat() }),
    ...(headers === undefined ? {} : { headers }),
    ...(sendAt === undefined ? {} : { sendAt: sendAtMs === null ? null : presentTime(sendAtMs) }),
  }
}

async function checkChange(
  deps: SendDeps,
  inbox: Inbox,
  { change, merged }: { change: DraftChange; merged: DraftChange },
): Promise<void> {
  const { to = null, cc, bcc, format, bodyHtml } = merged
  requireOneHtml(format ?? 'auto', bodyHtml || null)
  checkCount({ to, cc: cc ?? [], bcc: bcc ?? [], replyAll: false }, 0)
  const { accountId } = inbox
  if (change.threadId) {
    const thread = await findThread(deps.db, accountId, change.threadId)
    if (thread?.inboxId !== inbox.id) throw noThread()
  }
  if (change.replyTo) {
    const account = await findAccount(deps.db, accountId)
    if (account === null) throw notFound()
    await checkReplyTo(deps, account, bareAddress(change.replyTo))
  }
}

type Given = { inbox: Inbox; attachments: readonly AttachedFile[]; nowMs: number }

async function withFiles(
  deps: SendDeps,
  given: Given,
  write: (files: NewFile[]) => Promise<DraftOutcome>,
  stored: NewFile[] = [],
): Promise<DraftOutcome> {
  const next = given.attachments[stored.length]
  if (next === undefined) return write(stored)
  const { filename, contentType, contentId, content } = next
  return withRawBytes(deps, content, {
    write: (row) => {
      const id = deps.makeId('att')
      const size = content.length
      const file = { id, filename, contentType, size, contentId, rawId: row.id }
      const raw = sentRaw(row, given.inbox, given.nowMs)
      return withFiles(deps, given, write, [...stored, { file, raw }])
    },
    isKept: ({ kind }) => kind === 'draft',
  })
}

function refusalOf(outcome: DraftRefusal): AppError {
  switch (outcome.kind) {
    case 'not_found':
      return notFound()
    case 'draft_changed':
      return problem('draft_changed')
    case 'client_id_taken':
      return problem('client_id_taken', 'Another draft of the inbox has this clientId.', {
        fields: { draftId: outcome.draftId },
      })
    case 'too_many_drafts':
      return problem('draft_limit_reached')
    case 'too_many_files':
      return problem('draft_limit_reached', 'A draft may have 100 files.', {
        fix: 'Remove files with DELETE /v1/drafts/{id}/attachments/{attachmentId}. This limit cannot be changed.',
      })
    case 'files_too_large':
      return problem(
        'payload_too_large',
        `The files of the draft would have ${outcome.bytes} bytes in total; at most ${DRAFT_FILES_BYTES_MAX} are allowed.`,
        { fix: 'Attach fewer or smaller files.' },
      )
  }
}

function answerOf(status: 200 | 201, outcome: DraftOutcome): Answered<DraftShape> {
  if (outcome.kind !== 'draft') throw refusalOf(outcome)
  return answerWith(status, outcome.draft)
}

function answerWith(status: 200 | 201, draft: Draft): Answered<DraftShape> {
  const body = presentDraft(draft)
  return { status, headers: { etag: body.etag }, body }
}

async function* presentEach(
  deps: SendDeps,
  accountId: string,
  ids: readonly string[],
): AsyncGenerator<DraftShape> {
  for (const id of ids) {
    const draft = await findDraft(deps.db, accountId, id)
    if (draft !== null) yield presentDraft(draft)
  }
}

function presentDraft(draft: Draft): DraftShape {
  const { content, files, version: _, ...shown } = drafts.present(draft)
  return {
    ...shown,
    etag: etagOf(draft),
    to: content.to ?? [],
    cc: content.cc ?? [],
    bcc: content.bcc ?? [],
    replyTo: content.replyTo ?? null,
    subject: content.subject ?? null,
    body: content.body ?? null,
    format: content.format ?? 'auto',
    bodyHtml: content.bodyHtml ?? null,
    threadId: content.threadId ?? null,
    includeQuote: content.includeQuote ?? true,
    includeSignature: content.includeSignature ?? true,
    replyAll: content.replyAll ?? false,
    headers: content.headers ?? {},
    unsubscribe: content.unsubscribe ?? false,
    isAutomatic: content.isAutomatic ?? false,
    invite: content.invite ?? null,
    sendAt: content.sendAt ?? null,
    attachments: files.map(({ rawId: _, ...file }) => file),
  }
}
