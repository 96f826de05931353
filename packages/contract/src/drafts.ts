// Drafts: messages that have not been sent.

import { InviteToSend } from './invitations.ts'
import type { Operation } from './operation.ts'
import { listOf, PageQuery } from './page.ts'
import { type Static, type TSchema, type TUnsafe, Type } from './schema.ts'
import { AttachmentToSend, attachmentsToSend, SendMessage, SentMessage } from './sending.ts'
import { line, nullableLine, nullableText, nullableTime, oneOf, text, time } from './text.ts'
import { bodyFormats } from './vocabulary.ts'

const CLIENT_ID_LENGTH_MAX = 255

const DraftAttachment = Type.Object(
  {
    id: text('The id.'),
    filename: text('The file name from the request.'),
    contentType: text('The media type from the request.'),
    size: Type.Integer({ minimum: 0, description: 'In bytes.' }),
    contentId: nullableText('The HTML refers to the file as "cid:" followed by this value.'),
  },
  { description: 'A file of a draft.' },
)

const addresses = (description: string) =>
  Type.Array(text('One address, or Name <address>.'), { description })

export const Draft = Type.Object(
  {
    id: text('The id.'),
    inboxId: text('The inbox that will send the message.'),
    clientId: nullableText('Chosen by the client, unique among the drafts of the inbox.'),
    etag: text('The ETag of this version with quotation marks, for If-Match.'),
    to: addresses('The recipients.'),
    cc: addresses('Copied recipients.'),
    bcc: addresses('Hidden recipients.'),
    replyTo: nullableText('The address for replies, with its name.'),
    subject: nullableText('The subject; ignored with threadId.'),
    body: nullableText('The text, in the given format.'),
    format: oneOf(bodyFormats, 'The format of body: see the same field of a send.'),
    bodyHtml: nullableText('HTML version, if it differs from body.'),
    threadId: nullableText('The thread that the message replies in.'),
    includeQuote: Type.Boolean({
      description: 'Whether a reply quotes the original message.',
    }),
    includeSignature: Type.Boolean({
      description: 'Whether the signature of the inbox is added when the draft is sent.',
    }),
    replyAll: Type.Boolean({ description: 'Whether a reply also goes to the other recipients.' }),
    headers: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Additional header fields by name.',
    }),
    unsubscribe: Type.Boolean({ description: 'Whether the message gets an unsubscribe link.' }),
    isAutomatic: Type.Boolean({
      description: 'Whether the message is marked as sent by a program.',
    }),
    invite: Type.Union([InviteToSend, Type.Null()], {
      description: 'The invitation in the message; null for none.',
    }),
    sendAt: nullableTime(
      'The scheduled time; null to send the message as soon as the draft is sent.',
    ),
    attachments: Type.Array(DraftAttachment, { description: 'The attached files, in order.' }),
    createdAt: time('When the draft was created.'),
    updatedAt: time('When the draft was last changed.'),
  },
  { description: 'A message that has not been sent.' },
)
export type Draft = Static<typeof Draft>

const clientIdBounds = {
  minLength: 1,
  maxLength: CLIENT_ID_LENGTH_MAX,
  description: 'Must be unique among the drafts of the inbox.',
}

const { attachments: _, body, ...sent } = SendMessage.properties
const fields = { ...sent, body: Type.Optional(body) }

export const CreateDraft = Type.Object(
  {
    ...fields,
    attachments: Type.Optional(attachmentsToSend),
    clientId: Type.Optional(line(clientIdBounds)),
  },
  { additionalProperties: false, description: 'A draft. All fields are optional.' },
)

/** Makes a field nullable and drops its default, because an omitted field stays unchanged. */
function nullable<Schema extends TSchema>(schema: Schema): TUnsafe<Static<Schema> | null> {
  const { default: _, type, ...rest } = schema as Partial<Record<'default' | 'type', string>>
  const { enum: words } = schema as { enum?: readonly unknown[] }
  return Type.Unsafe<Static<Schema> | null>({
    ...rest,
    type: [type ?? 'string', 'null'].flat(),
    ...(words !== undefined && { enum: [...words, null] }),
  })
}

const UpdateDraft = Type.Object(
  {
    to: Type.Optional(nullable(fields.to)),
    body: Type.Optional(nullable(fields.body)),
    format: Type.Optional(nullable(fields.format)),
    subject: Type.Optional(nullable(fields.subject)),
    bodyHtml: Type.Optional(nullable(fields.bodyHtml)),
    threadId: Type.Optional(nullable(fields.threadId)),
    includeQuote: Type.Optional(nullable(fields.includeQuote)),
    includeSignature: Type.Optional(nullable(fields.includeSignature)),
    replyTo: Type.Optional(nullable(fields.replyTo)),
    cc: Type.Optional(nullable(fields.cc)),
    bcc: Type.Optional(nullable(fields.bcc)),
    replyAll: Type.Optional(nullable(fields.replyAll)),
    headers: Type.Optional(nullable(fields.headers)),
    sendAt: Type.Optional(nullable(fields.sendAt)),
    invite: Type.Optional(nullable(fields.invite)),
    unsubscribe: Type.Optional(nullable(fields.unsubscribe)),
    isAutomatic: Type.Optional(nullable(fields.isAutomatic)),
    clientId: Type.Optional(nullableLine(clientIdBounds)),
  },
  { additionalProperties: false },
)

const ofDraft = { id: 'The id of a draft.' } as const
const IF_MATCH_NOTE =
  'With If-Match, the request is refused with draft_changed unless the draft still has this ETag. Without it, the last change wins.'
const draftAnswer = { description: 'The updated draft.', schema: Draft } as const

export const draftOperations = {
  'drafts.create': {
    method: 'POST',
    path: '/v1/inboxes/{id}/drafts',
    tag: 'Drafts',
    summary: 'Create a draft in an inbox.',
    notes:
      'Accepts the fields of a message to send, all of which are optional. They are validated as in a send, but required fields may be missing until the draft is sent. If a draft of the inbox already has the clientId, the response is client_id_taken with its draftId.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    body: CreateDraft,
    hasLargeBody: true,
    hasEtag: true,
    success: { status: 201, description: 'The new draft.', schema: Draft },
    errors: ['client_id_taken', 'draft_limit_reached'],
  },
  'drafts.list': {
    method: 'GET',
    path: '/v1/inboxes/{id}/drafts',
    tag: 'Drafts',
    summary: 'List drafts of an inbox.',
    notes: 'Newest first.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    query: PageQuery,
    success: {
      status: 200,
      description: 'A page of drafts.',
      schema: listOf(Draft, 'A page of drafts.'),
    },
    errors: [],
  },
  'drafts.get': {
    method: 'GET',
    path: '/v1/drafts/{id}',
    tag: 'Drafts',
    summary: 'Get a draft.',
    auth: 'key',
    isRateLimited: true,
    parameters: ofDraft,
    hasEtag: true,
    success: { status: 200, description: 'The draft.', schema: Draft },
    errors: [],
  },
  'drafts.update': {
    method: 'PATCH',
    path: '/v1/drafts/{id}',
    tag: 'Drafts',
    summary: 'Update a draft.',
    notes: `Omitted fields stay unchanged; null clears a field. ${IF_MATCH_NOTE}`,
    auth: 'key',
    isRateLimited: true,
    parameters: ofDraft,
    body: UpdateDraft,
    hasEtag: true,
    takesIfMatch: true,
    success: { status: 200, ...draftAnswer },
    errors: ['client_id_taken', 'draft_changed', 'draft_limit_reached'],
  },
  'drafts.delete': {
    method: 'DELETE',
    path: '/v1/drafts/{id}',
    tag: 'Drafts',
    summary: 'Delete a draft.',
    notes: IF_MATCH_NOTE,
    auth: 'key',
    isRateLimited: true,
    parameters: ofDraft,
    takesIfMatch: true,
    success: { status: 204, description: 'The draft is deleted.' },
    errors: ['draft_changed'],
  },
  'drafts.addAttachment': {
    method: 'POST',
    path: '/v1/drafts/{id}/attachments',
    tag: 'Drafts',
    summary: 'Attach a file to a draft.',
    notes: `A draft may have 100 files with 25 MiB in total. They count towards the storage of the account. ${IF_MATCH_NOTE}`,
    auth: 'key',
    isRateLimited: true,
    parameters: ofDraft,
    body: AttachmentToSend,
    hasLargeBody: true,
    hasEtag: true,
    takesIfMatch: true,
    success: { status: 201, ...draftAnswer },
    errors: ['draft_changed', 'draft_limit_reached'],
  },
  'drafts.removeAttachment': {
    method: 'DELETE',
    path: '/v1/drafts/{id}/attachments/{attachmentId}',
    tag: 'Drafts',
    summary: 'Remove a file from a draft.',
    notes: IF_MATCH_NOTE,
    auth: 'key',
    isRateLimited: true,
    parameters: { ...ofDraft, attachmentId: 'The id of an attachment of the draft.' },
    hasEtag: true,
    takesIfMatch: true,
    success: { status: 200, ...draftAnswer },
    errors: ['draft_changed'],
  },
  'drafts.send': {
    method: 'POST',
    path: '/v1/drafts/{id}/send',
    tag: 'Drafts',
    summary: 'Send a draft.',
    notes: `Equivalent to POST /v1/inboxes/{id}/send with the fields and files of the draft. The draft is deleted once the message is accepted, and unchanged if it is refused. Repeating the request with the same Idempotency-Key returns the first response, even though the draft no longer exists. ${IF_MATCH_NOTE}`,
    auth: 'key',
    isRateLimited: true,
    parameters: ofDraft,
    takesIfMatch: true,
    needsIdempotencyKey: true,
    takesLeaseToken: true,
    success: {
      status: 200,
      description: 'The message is stored and queued, now or by an earlier request.',
      schema: SentMessage,
    },
    errors: [
      'bad_request',
      'draft_changed',
      'missing_idempotency_key',
      'idempotency_key_reused',
      'invalid_domain',
      'feature_requires_paid_plan',
      'payload_too_large',
      'recipient_suppressed',
      'thread_trashed',
      'loop_suspected',
      'rate_limit_exceeded',
      'cold_outreach_limit',
    ],
  },
} as const satisfies Record<string, Operation>
