import { FACETS_MAX, METADATA_KEYS_MAX } from '@mailroom/contract/labels.ts'
import { refuseScopedKey } from '#accounts/keys/keys.ts'
import { findPod } from '#accounts/store/pods.ts'
import type { HandlersOf } from '#http/handler.ts'
import { changeInbox } from '#inboxes/store/change-inboxes.ts'
import { findOwnInbox, findShownInbox, listInboxes } from '#inboxes/store/inboxes.ts'
import { type MetadataChange, metadataFacets } from '#inboxes/store/metadata.ts'
import { type Clock, INSTANT_RULE, parseInstant } from '#platform/clock.ts'
import { notFound, problem, wrongField, wrongQuery } from '#platform/problem.ts'
import { DAY_MS } from '#platform/units.ts'
import type { EditsOf } from '#store/columns.ts'
import { inboxes } from '#store/nouns.ts'
import {
  type ChangedInbox,
  type CreateDeps,
  checkDisplayName,
  createInbox,
  makeInboxWebhook,
} from './create-inbox.ts'
import type { ShownInbox } from './model.ts'

type Deps = CreateDeps & {
  wakeWorker: () => void
  /** Throws `bad_request` for a signature that no message could be sent with. */
  checkSignature: (accountId: string, signature: string) => Promise<void>
}

export function inboxHandlers(
  deps: Deps,
): Pick<
  HandlersOf<'inboxes'>,
  | 'inboxes.create'
  | 'inboxes.list'
  | 'inboxes.get'
  | 'inboxes.getByAddress'
  | 'inboxes.update'
  | 'inboxes.createApiKey'
  | 'inboxes.listApiKeys'
  | 'inboxes.deleteApiKey'
> {
  const getInbox = async (accountId: string, inboxId: string): Promise<ShownInbox> => {
    const inbox = await findShownInbox(deps.db, accountId, inboxId)
    if (inbox === null) throw notFound()
    return inbox
  }
  const refuseKey = refuseScopedKey((accountId, { id }: { id: string }) => getInbox(accountId, id))
  return {
    'inboxes.create': async ({ body }, { accountId }) => {
      const created = await createInbox(deps, await readSettings(deps, accountId, body))
      return { status: created.isNew ? 201 : 200, body: presentChanged(created) }
    },
    'inboxes.list': async ({ query }, { accountId, inboxIds }) => {
      const { address, podId: name, metadata = {}, ...page } = query
      const facets = metadataFacets(metadata)
      if (facets.length > FACETS_MAX) {
        throw wrongQuery('metadata', `must have at most ${FACETS_MAX} keys`)
      }
      const pod = name === undefined ? null : await findPod(deps.db, accountId, name)
      if (name !== undefined && pod === null) return { data: [], total: 0 }
      const inbox = address === undefined ? null : await findOwnInbox(deps.db, accountId, address)
      if (address !== undefined && inbox === null) return { data: [], total: 0 }
      const podId = pod?.id ?? null
      const { inboxes: shown, total } = await listInboxes(deps.db, {
        accountId,
        podId,
        inboxId: inbox?.id,
        inboxIds,
        facets,
        ...page,
      })
      return { data: shown.map(inboxes.present), total }
    },
    'inboxes.get': async ({ path }, { accountId }) =>
      inboxes.present(await getInbox(accountId, path.id)),
    'inboxes.getByAddress': async ({ path }, { accountId }) => {
      const found = await findOwnInbox(deps.db, accountId, path.address)
      if (found === null) throw notFound()
      return inboxes.present(await getInbox(accountId, found.id))
    },
    'inboxes.update': async ({ path, body }, { accountId }) => {
      // A missing inbox is reported before an invalid URL or signature.
      if (typeof (body.webhookUrl ?? body.signature) === 'string') {
        await getInbox(accountId, path.id)
      }
      const change = await readSettings(deps, accountId, body)
      return presentChanged(await updateInbox(deps, { inboxId: path.id, ...change }))
    },
    'inboxes.createApiKey': refuseKey,
    'inboxes.listApiKeys': refuseKey,
    'inboxes.deleteApiKey': refuseKey,
  }
}

type Readable = { expiresAt?: string | null; signature?: string | null }

async function readSettings<Body extends Readable>(
  deps: Deps,
  accountId: string,
  { expiresAt, signature, ...rest }: Body,
) {
  const read = await readSignature(deps, accountId, signature)
  return { accountId, ...rest, ...readExpiry(deps, expiresAt), ...read }
}

/** Not a setting, because the API documents it. */
const EXPIRES_MS_MAX = 36_500 * DAY_MS

function readExpiry(
  { clock }: { clock: Clock },
  text: string | null | undefined,
): { expiresAtMs?: number | null } {
  if (text === undefined) return {}
  if (text === null) return { expiresAtMs: null }
  const expiresAtMs = parseInstant(text)
  if (expiresAtMs === null) throw wrongField('expiresAt', INSTANT_RULE)
  const aheadMs = expiresAtMs - clock.now()
  if (aheadMs > 0 && aheadMs <= EXPIRES_MS_MAX) return { expiresAtMs }
  throw wrongField('expiresAt', 'must be in the future, at most 36500 days ahead')
}

async function readSignature(
  { checkSignature }: Pick<Deps, 'checkSignature'>,
  accountId: string,
  signature: string | null | undefined,
): Promise<{ signature?: string | null }> {
  if (signature === undefined) return {}
  if (signature === null || signature.trim() === '') return { signature: null }
  await checkSignature(accountId, signature)
  return { signature }
}

type UpdateInbox = EditsOf<typeof inboxes> & {
  accountId: string
  inboxId: string
  /** Null removes the webhook. A new URL keeps the secret. */
  webhookUrl?: string | null
  metadata?: MetadataChange
}

/** Throws `invalid_webhook_url`, `not_found`, `client_id_taken` or `metadata_limit_reached`. */
async function updateInbox(
  deps: Deps,
  { webhookUrl, ...input }: UpdateInbox,
): Promise<ChangedInbox> {
  checkDisplayName(input.displayName)
  const made = typeof webhookUrl === 'string' ? makeInboxWebhook(deps, webhookUrl) : null
  const changed = await deps.db.write(changeInbox, {
    ...input,
    ...(webhookUrl !== undefined && { webhook: made?.webhook ?? null }),
    nowMs: deps.clock.now(),
  })
  if (changed === null) throw notFound()
  if (changed === 'client_id_taken') throw problem('client_id_taken')
  if (changed === 'metadata_limit_reached') {
    throw problem(
      'metadata_limit_reached',
      `At most ${METADATA_KEYS_MAX} keys of metadata are allowed.`,
    )
  }
  if (webhookUrl === null) deps.wakeWorker()
  return { inbox: changed.inbox, webhookSecret: changed.isWebhookNew && made ? made.secret : null }
}

function presentChanged({ inbox, webhookSecret }: ChangedInbox) {
  return { ...inboxes.present(inbox), ...(webhookSecret === null ? {} : { webhookSecret }) }
}
