// The operations that each scope permits, and the inboxes that a request names. Operations that are
// not listed, such as approvals, the policy, keys, domains and webhooks, are closed to connections.

import { type OperationId, operationOf } from '@mailroom/contract/operations.ts'
import type { ConnectionScope } from '@mailroom/contract/vocabulary.ts'
import type { ReadDb } from '#store/tables.ts'

const READ = ['mail:read'] as const
const DRAFT = ['mail:draft'] as const
const SEND = ['mail:send'] as const
const ORGANISE = ['mail:organise'] as const
const WRITE = [...DRAFT, ...SEND] as const
/** Every tool must first find the mail that it works with. */
const ANY = [...READ, ...WRITE, ...ORGANISE] as const

/** One of the scopes suffices. */
const PERMITTED: Partial<Record<OperationId, readonly ConnectionScope[]>> = {
  'inboxes.list': ANY,
  'inboxes.get': ANY,
  'threads.get': ANY,
  'threads.messages': ANY,
  'messages.get': ANY,

  'inboxes.wait': READ,
  'inboxes.search': READ,
  'inboxes.limits': [...READ, ...WRITE],
  'threads.list': READ,
  'threads.view': READ,
  'threads.labels': [...READ, ...ORGANISE],
  'messages.list': [...READ, ...SEND],
  'messages.search': READ,
  'messages.view': READ,
  'messages.raw': READ,
  'messages.headers': READ,
  'messages.deliveries': [...READ, ...SEND],
  'attachments.get': READ,
  'attachments.text': READ,
  'inboxes.scheduled': [...READ, ...SEND],
  'reviews.list': [...READ, ...SEND],
  'sandbox.list': [...READ, ...SEND],

  'drafts.create': WRITE,
  'drafts.list': [...READ, ...WRITE],
  'drafts.get': [...READ, ...WRITE],
  'drafts.update': WRITE,
  'drafts.delete': WRITE,
  'drafts.addAttachment': WRITE,
  'drafts.removeAttachment': WRITE,
  'inboxes.checkSend': WRITE,
  'uploads.createLink': WRITE,

  'drafts.send': SEND,
  'inboxes.send': SEND,
  'inboxes.sendBatch': SEND,
  'messages.forward': SEND,
  'messages.rsvp': SEND,
  'messages.cancel': SEND,

  'inboxes.create': ORGANISE,
  'inboxes.claimThreads': ORGANISE,
  'threads.claim': ORGANISE,
  'threads.renewClaim': ORGANISE,
  'threads.releaseClaim': ORGANISE,
  // A reply marks its thread as read.
  'threads.update': [...ORGANISE, ...SEND],
  'threads.delete': ORGANISE,
  'threads.restore': ORGANISE,
  'messages.update': ORGANISE,
  'sandbox.receive': ORGANISE,
}

export function isPermitted(operationId: OperationId, scopes: readonly ConnectionScope[]): boolean {
  return PERMITTED[operationId]?.some((scope) => scopes.includes(scope)) ?? false
}

type Kind = 'inbox' | 'thread' | 'message' | 'draft'
type Name = { readonly kind: Kind; readonly id: string }

/** Objects that a path names, by the segment before the name. */
const KINDS: Readonly<Record<string, Kind>> = {
  inboxes: 'inbox',
  threads: 'thread',
  messages: 'message',
  attachments: 'message',
  drafts: 'draft',
}

/** They concern no inbox, or the handler keeps to the granted ones. */
const WITHOUT_INBOX: ReadonlySet<OperationId> = new Set([
  'inboxes.list',
  'sandbox.list',
  'sandbox.receive',
  'uploads.createLink',
])

/** Fields of queries and bodies that name an object. */
const FIELDS: Readonly<Record<string, Kind>> = {
  inboxId: 'inbox',
  inbox_id: 'inbox',
  threadId: 'thread',
  thread_id: 'thread',
  messageId: 'message',
  message_id: 'message',
}

/**
 * The inboxes of all objects that the request names; null for one that does not exist. An operation
 * on the whole account, whose path and query name none, gives null too.
 */
export async function namedInboxes(
  db: ReadDb,
  {
    accountId,
    operationId,
    path,
    query,
    body,
  }: {
    accountId: string
    operationId: OperationId
    path: Readonly<Record<string, string>>
    query: Readonly<Record<string, unknown>>
    body: unknown
  },
): Promise<(string | null)[]> {
  const ofPath = namesInPath(operationOf(operationId).path, path)
  const names = [...ofPath, ...namesIn(query)]
  if (names.length === 0 && !WITHOUT_INBOX.has(operationId)) return [null]
  return Promise.all([...names, ...namesIn(body)].map((name) => inboxOf(db, accountId, name)))
}

function namesInPath(template: string, path: Readonly<Record<string, string>>): Name[] {
  const segments = template.split('/')
  return segments.flatMap((segment, index) => {
    const kind = KINDS[segments[index - 1] ?? '']
    const id = path[segment.slice(1, -1)]
    return segment.startsWith('{') && kind !== undefined && id !== undefined ? [{ kind, id }] : []
  })
}

/** Includes nested lists and objects, such as files that are attached by reference. */
function namesIn(value: unknown): Name[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const kind = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined
    if (kind === undefined) return namesIn(inner)
    return typeof inner === 'string' ? [{ kind, id: inner }] : []
  })
}

const TABLES = { thread: 'threads', message: 'messages', draft: 'drafts' } as const

async function inboxOf(db: ReadDb, accountId: string, { kind, id }: Name): Promise<string | null> {
  if (kind === 'inbox') return id
  const row = await db.read
    .selectFrom(TABLES[kind])
    .select('inbox_id')
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row?.inbox_id ?? null
}
