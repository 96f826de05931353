// Exports and imports: mail as files, out of the service and into it.

import type { Operation } from './operation.ts'
import { listOf, PageQuery } from './page.ts'
import { type Static, Type } from './schema.ts'
import {
  count,
  nullableCount,
  nullableOneOf,
  nullableText,
  nullableTime,
  oneOf,
  text,
  time,
} from './text.ts'

export const EXPORT_FORMATS = ['mbox', 'maildir', 'jsonl'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
const IMPORT_FORMATS = ['mbox', 'maildir', 'jsonl', 'eml'] as const
export type ImportFormat = (typeof IMPORT_FORMATS)[number]
const EXPORT_STATUSES = ['queued', 'running', 'done', 'failed', 'expired'] as const
const IMPORT_STATUSES = ['queued', 'running', 'done', 'failed'] as const
const TRANSFER_ERRORS = [
  'inbox_deleted',
  'file_unreadable',
  'storage_quota_reached',
  'address_erased',
  'internal_error',
] as const
export type TransferError = (typeof TRANSFER_ERRORS)[number]

const error = nullableOneOf(
  TRANSFER_ERRORS,
  'Why the transfer failed; null if it has not failed. `internal_error`: eight consecutive attempts failed because of an internal error.',
)
const errorMessage = nullableText(
  'Why the transfer or its last attempt failed; null if no attempt has failed since the last progress.',
)
const nextAttemptAt = nullableTime(
  'When the next attempt is due after a failed one; null if none is due.',
)

export const Export = Type.Object(
  {
    id: text('The id.'),
    status: oneOf(
      EXPORT_STATUSES,
      'The file can be downloaded while the status is done; it expires after seven days, or when ten newer exports of the account are done.',
    ),
    format: oneOf(
      EXPORT_FORMATS,
      'An mbox is one file as mboxrd (RFC 4155). A maildir is a tar archive with a Maildir for each inbox. A jsonl has a JSON object on each line.',
    ),
    inboxId: nullableText('The exported inbox; null if a pod is exported.'),
    podId: nullableText('The exported pod; null if one inbox is exported.'),
    progress: Type.Object(
      {
        done: count('Messages written so far.'),
        total: count('Total messages, counted at the start.'),
      },
      { description: 'Progress in messages.' },
    ),
    sizeBytes: nullableCount('Size of the file in bytes; null until the export is done.'),
    url: nullableText(
      'Signed URL of the file, valid for 15 minutes; each response has a new one. Null unless the export is done.',
    ),
    error,
    errorMessage,
    nextAttemptAt,
    createdAt: time('When the export was requested.'),
    completedAt: nullableTime('When the transfer finished or failed.'),
    expiresAt: nullableTime('When the file is removed; null until it is done.'),
  },
  { description: 'An export of mail.' },
)
export type Export = Static<typeof Export>

export const ImportFailure = Type.Object(
  {
    number: Type.Integer({
      minimum: 1,
      description: 'The number of the message in the file.',
    }),
    name: nullableText('The name of the message in the archive; null in other files.'),
    reason: text('Why the message was not imported.'),
  },
  { description: 'A message of the file that was not imported.' },
)

const Skipped = Type.Object(
  {
    trash: count('Messages that were deleted or in the trash in the other program.'),
    spam: count('Messages that Gmail marked as spam.'),
    draft: count('Drafts, which were not sent.'),
    unfinished: count('Unfinished files in a Maildir.'),
    otherFile: count('Files in an archive that are not messages.'),
  },
  { description: 'Entries of the file that are not regular mail and were not imported.' },
)
export type SkipReason = keyof Static<typeof Skipped>

export const Import = Type.Object(
  {
    id: text('The id.'),
    status: oneOf(IMPORT_STATUSES, 'Whether the file was read completely.'),
    format: oneOf(IMPORT_FORMATS, 'The format of the file.'),
    inboxId: text('The inbox that receives the messages.'),
    progress: Type.Object(
      { done: count('Bytes read so far.'), total: count('Size of the file in bytes.') },
      { description: 'Progress in bytes of the file.' },
    ),
    imported: count('Messages added to the inbox.'),
    duplicates: count('Messages that the inbox already had.'),
    failed: count('Messages that could not be imported.'),
    failures: Type.Array(ImportFailure, { description: 'The first 100 failed messages.' }),
    skipped: Skipped,
    error,
    errorMessage,
    nextAttemptAt,
    createdAt: time('When the file was received.'),
    completedAt: nullableTime('When the transfer finished or failed.'),
  },
  { description: 'An import of mail.' },
)
export type Import = Static<typeof Import>

export const CreateExport = Type.Object(
  {
    inboxId: Type.Optional(text('Export this inbox.')),
    podId: Type.Optional(text('Export every inbox of this pod: its id or clientId.')),
    format: oneOf(EXPORT_FORMATS, 'The format of the file.'),
  },
  { additionalProperties: false, description: 'What to export: an inbox or a pod.' },
)

const ofExport = { id: 'The id of an export.' } as const

export const transferOperations = {
  'exports.create': {
    method: 'POST',
    path: '/v1/exports',
    tag: 'Exports and imports',
    summary: 'Export an inbox or a pod as a file.',
    notes:
      'Set either inboxId or podId. The file is written in the background: GET /v1/exports/{id} returns its progress and then the signed url. The file contains every message that is in the inbox when the file is written, except those in the trash, with the raw bytes as received or sent. An mbox or a maildir leaves out messages that were never sent: held, scheduled, cancelled and rejected ones.',
    auth: 'key',
    isRateLimited: true,
    body: CreateExport,
    success: { status: 202, description: 'The export has started.', schema: Export },
    errors: ['not_found', 'invalid_pod', 'storage_quota_reached', 'transfer_limit_reached'],
  },
  'exports.list': {
    method: 'GET',
    path: '/v1/exports',
    tag: 'Exports and imports',
    summary: 'List exports.',
    notes: 'Newest first. Exports are listed for 37 days, up to the newest thousand.',
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of exports.',
      schema: listOf(Export, 'A page of exports.'),
    },
    errors: [],
  },
  'exports.get': {
    method: 'GET',
    path: '/v1/exports/{id}',
    tag: 'Exports and imports',
    summary: 'Get an export.',
    auth: 'key',
    isRateLimited: true,
    parameters: ofExport,
    success: { status: 200, description: 'The export.', schema: Export },
    errors: [],
  },
  'exports.delete': {
    method: 'DELETE',
    path: '/v1/exports/{id}',
    tag: 'Exports and imports',
    summary: 'Delete an export and its file.',
    notes: 'Stops an export in progress and invalidates its URL.',
    auth: 'key',
    isRateLimited: true,
    parameters: ofExport,
    success: { status: 204, description: 'The export is deleted.' },
    errors: [],
  },
  'exports.download': {
    method: 'GET',
    path: '/v1/exports/{id}/file',
    tag: 'Exports and imports',
    summary: 'Download the file of an export.',
    notes: 'Use an API key, or the signed url of the export without one.',
    auth: 'key-or-signature',
    isRateLimited: true,
    parameters: ofExport,
    query: Type.Object({
      expires: Type.Optional(Type.String({ description: 'Part of a signed URL.' })),
      signature: Type.Optional(Type.String({ description: 'Part of a signed URL.' })),
    }),
    success: {
      status: 200,
      description: 'The file.',
      mediaType: 'application/octet-stream',
      isRanged: true,
    },
    errors: ['invalid_signature', 'range_not_satisfiable'],
  },
  'imports.create': {
    method: 'POST',
    path: '/v1/inboxes/{id}/imports',
    tag: 'Exports and imports',
    summary: 'Import mail from a file into an inbox.',
    notes:
      'The body is the file itself, or a form with one file: an mbox, a tar archive of a Maildir, the jsonl of an export, or one message, optionally compressed with gzip. Dates, threads, read flags, directions and labels are kept, including those that Gmail, Thunderbird and other programs record in the file; their trash, spam and drafts are counted as skipped. An import emits no events, calls no webhooks and ends no waits. A message that the inbox already has is counted but not stored again, so the same file may be imported again. For the guards of a policy, the senders of imported mail remain unknown.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    query: Type.Object({
      isRead: Type.Boolean({
        default: false,
        description: 'Whether messages without a read flag in the file are imported as read.',
      }),
    }),
    upload: {
      mediaTypes: [
        'application/mbox',
        'application/x-tar',
        'application/x-ndjson',
        'message/rfc822',
        'application/gzip',
        'application/octet-stream',
        'multipart/form-data',
      ],
    },
    success: { status: 202, description: 'The import has started.', schema: Import },
    errors: ['bad_request', 'storage_quota_reached', 'transfer_limit_reached', 'address_erased'],
  },
  'imports.list': {
    method: 'GET',
    path: '/v1/imports',
    tag: 'Exports and imports',
    summary: 'List imports.',
    notes:
      'Newest first. Imports are listed for 30 days after their end, up to the newest thousand.',
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of imports.',
      schema: listOf(Import, 'A page of imports.'),
    },
    errors: [],
  },
  'imports.get': {
    method: 'GET',
    path: '/v1/imports/{id}',
    tag: 'Exports and imports',
    summary: 'Get an import.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an import.' },
    success: { status: 200, description: 'The import.', schema: Import },
    errors: [],
  },
} as const satisfies Record<string, Operation>
