import { errorCodes } from '@mailroom/contract/error-codes.ts'
import type { FastifyRequest } from 'fastify'
import { payerOf } from '#accounts/keys/keys.ts'
import { AppError, problem } from '#platform/problem.ts'

type Kind = {
  readonly name: string
  /** The beginning of its ids; absent if clients choose them. */
  readonly prefix?: string
  /** The path that returns all of them, if there is one. */
  readonly list?: string
}

/** By the path's parameter or, for `{id}`, by the segment before it. */
const kinds: Readonly<Record<string, Kind>> = {
  idOrClientId: { name: 'pod', list: '/v1/pods' },
  'by-address': { name: 'inbox with the address', list: '/v1/inboxes' },
  inboxes: { name: 'inbox', prefix: 'inb_', list: '/v1/inboxes' },
  domains: { name: 'domain', prefix: 'dom_', list: '/v1/domains' },
  threads: { name: 'thread', prefix: 'thr_', list: '/v1/inboxes/{id}/threads' },
  messages: { name: 'message', prefix: 'msg_', list: '/v1/inboxes/{id}/messages' },
  messageId: { name: 'message', prefix: 'msg_', list: '/v1/inboxes/{id}/messages' },
  filename: { name: 'attachment', list: '/v1/messages/{id}' },
  drafts: { name: 'draft', prefix: 'drf_', list: '/v1/inboxes/{id}/drafts' },
  attachmentId: { name: 'attachment', prefix: 'att_', list: '/v1/drafts/{id}' },
  uploads: { name: 'upload', prefix: 'upl_' },
  exports: { name: 'export', prefix: 'exp_', list: '/v1/exports' },
  imports: { name: 'import', prefix: 'imp_', list: '/v1/imports' },
  erasures: { name: 'erasure', prefix: 'ers_' },
  address: { name: 'suppressed address', list: '/v1/suppressions' },
  'sender-rules': { name: 'sender rule', prefix: 'rul_', list: '/v1/sender-rules' },
  rules: { name: 'rule', prefix: 'rul_', list: '/v1/policy' },
  quarantine: { name: 'quarantined message', prefix: 'qua_', list: '/v1/quarantine' },
  webhooks: { name: 'webhook', prefix: 'whk_', list: '/v1/webhooks' },
  deliveryId: { name: 'delivery', prefix: 'dlv_', list: '/v1/webhooks/{id}/deliveries' },
  'api-keys': { name: 'API key', prefix: 'key_', list: '/v1/api-keys' },
  approvers: { name: 'approver', prefix: 'apr_', list: '/v1/approvers' },
  reviews: { name: 'review', prefix: 'hld_', list: '/v1/reviews' },
}

/** An id from a request is repeated only without control characters and up to this length. */
const SHOWN_ID = /^\P{C}{1,200}$/u

/** API keys, tokens of approvers, and the tokens and codes of OAuth. */
const SECRET = /^mr[aorc]?_/

type Failed = Pick<FastifyRequest, 'routeOptions' | 'params' | 'caller'>

/**
 * Names the resource of the path in a `not_found` that has no text of its own. The response is
 * the same for a resource of another account and for one that does not exist.
 */
export function describeMissing(error: unknown, { routeOptions, params, caller }: Failed): unknown {
  const path = routeOptions.config.operation?.path
  const isBare =
    error instanceof AppError &&
    error.code === 'not_found' &&
    error.message === errorCodes.not_found.sentence
  if (!isBare || path === undefined || caller === null || payerOf(caller) === null) return error
  const named = namedIn(path, params as Readonly<Record<string, string>>)
  const missing = named.at(-1)
  if (missing === undefined) return error
  const text = named
    .map(({ kind, id }) => (mayBeSecret(kind, id) ? `such ${kind.name}` : `${kind.name} ${id}`))
    .reverse()
  const message = `There is no ${text.join(' of ')} in this account.`
  return problem('not_found', message, { fix: fixOf(missing) })
}

/** Clients choose the ids of pods, and may give a key where an id belongs. */
function mayBeSecret({ name }: Kind, id: string): boolean {
  return name === 'pod' || SECRET.test(id)
}

type Named = { readonly kind: Kind; readonly id: string }

/** Empty unless each parameter of the path is an id that can be shown. */
function namedIn(path: string, ids: Readonly<Record<string, string>>): Named[] {
  const segments = path.split('/')
  const named = segments.flatMap((segment, index) => {
    if (!segment.startsWith('{')) return []
    const parameter = segment.slice(1, -1)
    const before = segments[index - 1] ?? ''
    const kind = kinds[parameter === 'id' || before === 'by-address' ? before : parameter]
    return [{ kind, id: ids[parameter] ?? '' }]
  })
  return named.every((one): one is Named => one.kind !== undefined && SHOWN_ID.test(one.id))
    ? named
    : []
}

function fixOf({ kind: { name, prefix, list }, id }: Named): string {
  const byAddress =
    name === 'inbox' && id.includes('@')
      ? 'GET /v1/inboxes/by-address/{address} finds an address. '
      : ''
  const form =
    prefix === undefined || id.startsWith(prefix)
      ? ''
      : `Such ids begin with ${prefix}. ${byAddress}`
  return list === undefined
    ? `${form}Use the id from the response that created it.`
    : `${form}GET ${list} returns the ids that exist.`
}
