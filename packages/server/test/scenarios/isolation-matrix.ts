// Derives from the contract's table of operations the requests of an account for objects of others. Operations and
// fields unknown to this file are listed, so that a test can fail on them.

import type { Operation } from '@mailroom/contract/operation.ts'
import {
  type OperationId,
  operationIds,
  operationOf,
  pathNames,
} from '@mailroom/contract/operations.ts'

/** The objects that path parameters name, by the segment before them. */
const KINDS = {
  pods: 'pod',
  inboxes: 'inbox',
  'inboxes/by-address': 'inboxAddress',
  threads: 'thread',
  messages: 'message',
  attachments: 'message',
  'api-keys': 'key',
  approvers: 'approver',
  connections: 'connection',
  'connections/clients': 'connectionClient',
  reviews: 'review',
  suppressions: 'address',
  webhooks: 'webhook',
  'sender-rules': 'rule',
  'policy/rules': 'rule',
  quarantine: 'quarantined',
  domains: 'domain',
  drafts: 'draft',
  exports: 'export',
  imports: 'import',
  uploads: 'upload',
  erasures: 'erasure',
} as const

export type Kind = (typeof KINDS)[keyof typeof KINDS]
export type Belongings = Record<Kind, string>

/** A body for each operation that requires one. */
const BODIES: Partial<Record<OperationId, object>> = {
  'drafts.addAttachment': { filename: 'a.txt', contentType: 'text/plain', data: '' },
  'threads.update': { is_read: true },
  'threads.claim': { owner: 'x', leaseSeconds: 60 },
  'inboxes.claimThreads': { owner: 'x', leaseSeconds: 60 },
  'messages.update': { addLabels: ['x'] },
  'exports.create': { format: 'mbox' },
  'domains.update': { podId: null },
  'domains.create': { domain: 'probe.example' },
  'account.update': { filterMode: 'none' },
  'approvers.create': { name: 'Eve' },
  'connections.createClient': { name: 'x', redirectUris: ['https://assistant.example/callback'] },
  'reviews.approve': { digest: 'x' },
  'reviews.edit': { digest: 'x' },
  'reviews.comment': { text: 'x' },
  'reviews.approveMany': { items: [{ id: 'hld_x', digest: 'x' }] },
  'senderRules.create': { type: 'block', value: 'spam.example' },
  'policy.replace': { inbound: { mode: 'none' } },
  'policy.setMode': { mode: 'none', direction: 'inbound' },
  'account.sendFeedback': { type: 'bug', message: 'It broke.' },
  'policy.createRule': { direction: 'outbound', type: 'block', value: 'spam.example' },
  'webhooks.update': { enabled: true, eventTypes: ['message.received'] },
  'inboxes.sendBatch': { items: [] },
  'messages.forward': { to: 'ann@elsewhere.example' },
  'messages.rsvp': { response: 'accepted' },
  'inboxes.checkSend': { to: 'ann@elsewhere.example', subject: 'A subject', body: 'A body.' },
  'inboxes.send': { to: 'ann@elsewhere.example', subject: 'A subject', body: 'A body.' },
}

/** A query for each operation that requires one. */
const QUERIES: Partial<Record<OperationId, string>> = {
  'inboxes.search': 'q=subject',
  'messages.search': 'q=subject',
}

/** Fields of queries and bodies that name an object, and those that only seem to. */
const REFERENCES = new Set([
  'podId',
  'inboxId',
  'catchAllInboxId',
  'threadId',
  'podIds',
  'inboxIds',
  'inbox_id',
  'thread_id',
  'uploadId',
  'messageId',
])
const NO_REFERENCES = new Set(['clientId', 'contentId'])

/** Operations that touch only objects that the caller creates by them. */
const CREATIONS = new Set<OperationId>([
  'pods.create',
  'inboxes.create',
  'apiKeys.create',
  'approvers.create',
  'connections.createClient',
  'suppressions.create',
  'webhooks.create',
  'senderRules.create',
  'domains.create',
  'policy.createRule',
  'exports.create',
  'erasures.create',
  'uploads.create',
  'uploads.createLink',
])

/** Operations on objects of the account that do not name them, and on addresses of its inboxes. */
const OWN_WITHOUT_NAME = new Set<OperationId>([
  'sandbox.clear',
  'sandbox.receive',
  'events.stream',
  'account.get',
  'account.me',
  'account.update',
  'account.sendFeedback',
  'policy.get',
  'policy.replace',
  'policy.setMode',
  'stats.get',
  'usage.get',
])

/** Operations on objects without an owner yet: a client that anybody who knows its code may approve. */
const NOBODYS = new Set<OperationId>(['pairing.get', 'pairing.approve', 'pairing.deny'])

/** Reads that return nothing about existing objects. */
const AHEAD = new Set<OperationId>(['inboxes.wait', 'inboxes.listApiKeys', 'pods.listApiKeys'])

/** Reads of a part of an object, which `probe` names by an id that no part has. */
const OF_PARTS = new Set<OperationId>(['webhooks.getDelivery'])

export type Probe = {
  readonly id: OperationId
  readonly method: string
  readonly path: string
  readonly body: object | undefined
  readonly headers: Record<string, string>
}

const ofAccounts = operationIds.filter((id) => {
  const { auth } = operationOf(id)
  return auth.startsWith('key') && !NOBODYS.has(id)
})

/** Operations and fields that the matrix does not cover; empty when it is complete. */
export function findGaps(): string[] {
  return ofAccounts.flatMap((id) => {
    const operation = operationOf(id)
    const gaps: string[] = []
    if (pathNames(operation.path).length > 0) {
      if (kindOf(operation) === undefined) gaps.push(`${id}: what does its path name?`)
    } else if (!isList(operation) && !CREATIONS.has(id) && !OWN_WITHOUT_NAME.has(id)) {
      gaps.push(`${id}: is it a list or a creation?`)
    }
    const isCovered = CREATIONS.has(id) || OWN_WITHOUT_NAME.has(id) || BODIES[id] !== undefined
    if ((operation.body?.required ?? []).length > 0 && !isCovered) {
      gaps.push(`${id}: what is a good body?`)
    }
    for (const name of fieldsOf(operation)) {
      const isSuspect = /(?:Ids?|_ids?)$/.test(name)
      if (isSuspect && !REFERENCES.has(name) && !NO_REFERENCES.has(name)) {
        gaps.push(`${id}: what does ${name} name?`)
      }
    }
    return gaps
  })
}

/** Operations with an object of an account in their path, and the kind of that object. */
export function pathOperations(): { id: OperationId; kind: Kind }[] {
  return ofAccounts.flatMap((id) => {
    const kind = kindOf(operationOf(id))
    return pathNames(operationOf(id).path).length === 0 || kind === undefined ? [] : [{ id, kind }]
  })
}

/** Reads of the contents of one object. */
export function readOperations(): { id: OperationId; kind: Kind }[] {
  return pathOperations().filter(
    ({ id }) => operationOf(id).method === 'GET' && !AHEAD.has(id) && !OF_PARTS.has(id),
  )
}

/** A well-formed request of the operation for the object with this id or name. */
export function probe(id: OperationId, name: string, filename = 'a.txt'): Probe {
  const { method, path, body, needsIdempotencyKey } = operationOf(id)
  const filled = path
    .replace(/\{(?!filename)\w+\}/, () => encodeURIComponent(name))
    .replace('{attachmentId}', 'att_01h455vb4pex5vsknk084sn02q')
    .replace('{deliveryId}', 'dlv_01h455vb4pex5vsknk084sn02q')
    .replace('{filename}', () => encodeURIComponent(filename))
  probes += 1
  return {
    id,
    method,
    path: QUERIES[id] === undefined ? filled : `${filled}?${QUERIES[id]}`,
    body: body && (BODIES[id] ?? {}),
    headers: {
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(needsIdempotencyKey ? { 'idempotency-key': `probe-${probes}` } : {}),
    },
  }
}

let probes = 0

/** Lists that do not belong to one object. */
export function listOperations(): OperationId[] {
  return ofAccounts.filter((id) => {
    return isList(operationOf(id)) && pathNames(operationOf(id).path).length === 0
  })
}

/** Operations that take a pod in their query or body. */
export function podOperations(place: 'query' | 'body'): OperationId[] {
  return ofAccounts.filter((id) => 'podId' in (operationOf(id)[place]?.properties ?? {}))
}

/** Operations that take an inbox in their query or body. */
export function inboxOperations(place: 'query' | 'body'): OperationId[] {
  return ofAccounts.filter((id) => 'inboxId' in (operationOf(id)[place]?.properties ?? {}))
}

/** Operations that take this field in their query. */
export function queryOperations(name: string): OperationId[] {
  return ofAccounts.filter((id) => name in (operationOf(id).query?.properties ?? {}))
}

/** Operations that take a thread in their body. */
export function threadOperations(): OperationId[] {
  return ofAccounts.filter((id) => 'threadId' in (operationOf(id).body?.properties ?? {}))
}

/** Operations that take pods and inboxes, by their ids in lists. */
export function filterOperations(): OperationId[] {
  return ofAccounts.filter((id) => 'podIds' in (operationOf(id).body?.properties ?? {}))
}

function kindOf(operation: Operation): Kind | undefined {
  const segment =
    /^\/v1\/((?:(?:policy|inboxes|connections)\/)?[^/{]+)\/\{/.exec(operation.path)?.[1] ?? ''
  return Object.hasOwn(KINDS, segment) ? KINDS[segment as keyof typeof KINDS] : undefined
}

function isList({ method, success }: Operation): boolean {
  return (
    method === 'GET' &&
    'schema' in success &&
    'total' in ((success.schema as { properties?: object }).properties ?? {})
  )
}

function fieldsOf({ query, body }: Operation): string[] {
  return [...Object.keys(query?.properties ?? {}), ...Object.keys(body?.properties ?? {})]
}

/** Names of objects that an account does not have: another's, unknown, malformed, of another kind. */
export function foreignNames(kind: Kind, theirs: Belongings, own: Belongings): string[] {
  const their = theirs[kind]
  const [prefix = ''] = their.split('_')
  const others = (Object.keys(theirs) as Kind[]).filter((other) => other !== kind)
  return [
    their,
    `${prefix}_01h455vb4pex5vsknk084sn02q`,
    `${prefix}_`,
    `${their}x`,
    their.slice(0, -1),
    their.toUpperCase(),
    their.replace('_', '-'),
    ` ${their}`,
    `${their}\n`,
    `${prefix}_${'z'.repeat(26)}`,
    'x',
    '%',
    '\0',
    `${own[kind]}\0`,
    "' or 1=1 --",
    '../../etc/passwd',
    'null',
    '0',
    '名前🙂',
    'x'.repeat(3_000),
    ...others.map((other) => theirs[other]),
    ...others.map((other) => own[other]),
  ]
}
