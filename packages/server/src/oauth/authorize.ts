// The authorization endpoint: shows who asks, signs a person in, and takes the decision. The pages
// carry the request, so any process can answer each step.

import type { IncomingHttpHeaders } from 'node:http'
import { CONNECTION_DAYS } from '@mailroom/contract/connections.ts'
import { type Caller, type Identify, requireOwnOrigin } from '#accounts/keys/keys.ts'
import { findAccount } from '#accounts/store/accounts.ts'
import type { BinaryResponse } from '#http/handler.ts'
import { findInboxIds, findOwnInbox, listInboxes } from '#inboxes/store/inboxes.ts'
import type { Chance } from '#platform/chance.ts'
import { AppError } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import { DAY_MS } from '#platform/units.ts'
import type { Store } from '#store/store.ts'
import {
  type AuthorizationRequest,
  openRequest,
  type PendingRequest,
  RefusedRequest,
  type ReplyTo,
  readAuthorizationRequest,
  replyUrl,
  sealRequest,
} from './authorization-request.ts'
import type { FindClient } from './clients.ts'
import { consentPage, refusedRequestPage, signInPage } from './consent-page.ts'
import { CODE_MS, hashSecret, newToken, readScopes } from './model.ts'
import type { From, RecordStep } from './record-step.ts'
import { insertConnection } from './store/connections.ts'

export type AuthorizeDeps = Store & {
  readonly chance: Chance
  readonly sealer: Sealer
  readonly publicUrl: () => string
  readonly findClient: FindClient
  readonly recordStep: RecordStep
}

type Sender = From & { readonly headers: IncomingHttpHeaders }

const INBOXES_SHOWN_MAX = 100
const INBOXES_MAX = 500

/** The answer to the link that the client opened in a browser. */
export async function openAuthorization(
  deps: AuthorizeDeps,
  query: URLSearchParams,
  from: From,
): Promise<BinaryResponse> {
  const publicUrl = deps.publicUrl()
  try {
    const request = await readAuthorizationRequest(query, { ...deps, publicUrl })
    return signIn(deps, request, null)
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error
    const { reason, client, replyTo } = error
    const failure = { error: reason.code, detail: reason.message }
    await deps.recordStep({ step: 'authorization', from, failure, client })
    // RFC 9700 §4.11.2: anyone can register a client, so that a redirect needs a person's click.
    const reply = replyTo === null ? null : { to: replyTo, url: refusalUrl(deps, replyTo, failure) }
    return refusedRequestPage(reason.message, { reply })
  }
}

/** The answer to a form of a page. Throws `forbidden_origin` for a form of another site. */
export async function continueAuthorization(
  deps: AuthorizeDeps,
  form: URLSearchParams,
  { identify, from }: { identify: Identify; from: Sender },
): Promise<BinaryResponse> {
  requireOwnOrigin(from.headers, { publicUrl: deps.publicUrl(), isOriginRequired: true })
  const pending = openRequest(deps.sealer, form.get('request') ?? '', deps.clock.now())
  if (pending === null) return refusedRequestPage('The page has expired.', { status: 410 })
  const { request, signedIn } = pending
  if (form.get('decision') === 'deny') {
    const failure = { error: 'access_denied', detail: 'The person cancelled the sign-in.' }
    await deps.recordStep({
      step: 'authorization',
      from: null,
      failure,
      client: { id: request.clientId, name: request.clientName },
      ...(signedIn && { accountId: signedIn.accountId }),
    })
    return seeOther(refusalUrl(deps, request, failure))
  }
  if (signedIn !== null) return decide(deps, { request, signedIn }, form)
  const found = await identifyKey(identify, form.get('api_key') ?? '', from)
  if (typeof found === 'string') return signIn(deps, request, found)
  if (request.ownerId !== null && request.ownerId !== found.accountId) {
    return signIn(deps, request, 'The client belongs to another account than this API key.')
  }
  const { accountId, keyId } = found
  return consent(deps, { request, signedIn: { accountId, keyId } }, null)
}

function signIn(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  notice: string | null,
): BinaryResponse {
  const sealed = sealRequest(deps.sealer, { request, signedIn: null }, deps.clock.now())
  return signInPage({ request, sealed, notice, status: notice === null ? 200 : 403 })
}

/** Returns a sentence if the key cannot be used. Failures count against the address. */
async function identifyKey(
  identify: Identify,
  key: string,
  { clientAddress, headers }: Sender,
): Promise<Extract<Caller, { kind: 'key' }> | string> {
  try {
    const caller = await identify('key', {
      authorization: `Bearer ${key.trim()}`,
      clientAddress,
      headers,
      isSigned: false,
      isReading: false,
    })
    return caller.kind === 'key' ? caller : 'An API key is required.'
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'unauthorized') return 'The API key is unknown or revoked.'
    if (error.code === 'forbidden') return 'The token of an approver cannot connect an assistant.'
    if (error.code === 'rate_limit_exceeded') return error.message
    throw error
  }
}

type SignedIn = PendingRequest & { readonly signedIn: NonNullable<PendingRequest['signedIn']> }

async function consent(
  deps: AuthorizeDeps,
  pending: SignedIn,
  notice: string | null,
): Promise<BinaryResponse> {
  const { accountId } = pending.signedIn
  const asked = { accountId, podId: null, limit: INBOXES_SHOWN_MAX, offset: 0 }
  const [account, { inboxes, total }] = await Promise.all([
    findAccount(deps.db, accountId),
    listInboxes(deps.db, asked),
  ])
  return consentPage({
    request: pending.request,
    sealed: sealRequest(deps.sealer, pending, deps.clock.now()),
    notice,
    status: notice === null ? 200 : 422,
    accountName: account?.name ?? '',
    inboxes,
    total,
  })
}

async function decide(
  deps: AuthorizeDeps,
  pending: SignedIn,
  form: URLSearchParams,
): Promise<BinaryResponse> {
  const { request, signedIn } = pending
  if (form.get('decision') !== 'allow') return consent(deps, pending, 'Choose Connect or Cancel.')
  const asked = readScopes(form.getAll('scope').join(' '))
  const scopes = asked.filter((scope) => request.scopes.includes(scope))
  if (scopes.length === 0) return consent(deps, pending, 'Choose what the assistant may do.')
  const inboxIds = await readInboxes(deps, signedIn.accountId, form)
  if (typeof inboxIds === 'string') return consent(deps, pending, inboxIds)
  const days = [0, ...CONNECTION_DAYS].find((some) => String(some) === form.get('days'))
  if (days === undefined) return consent(deps, pending, 'Choose for how long.')
  const nowMs = deps.clock.now()
  const code = newToken(deps.chance, 'code')
  const { clientId, clientName } = request
  const connection = {
    id: deps.makeId('con'),
    ...signedIn,
    ...{ clientId, clientName, inboxIds, scopes },
    createdAtMs: nowMs,
    lastUsedAtMs: null,
    expiresAtMs: days === 0 ? null : nowMs + days * DAY_MS,
  }
  const outcome = await deps.db.write(insertConnection, {
    connection,
    redirectUri: request.redirectUri,
    codeChallenge: request.codeChallenge,
    codeHash: hashSecret(code),
    codeExpiresAtMs: nowMs + CODE_MS,
  })
  if (outcome === 'no_key') return signIn(deps, request, 'The API key was revoked.')
  if (outcome === 'limit_reached') {
    return consent(deps, pending, 'The account has too many connections. Revoke some first.')
  }
  await deps.recordStep({ step: 'authorization', from: null, connection })
  deps.log.info(
    { accountId: signedIn.accountId, keyId: signedIn.keyId, connectionId: connection.id, clientId },
    'an assistant was connected',
  )
  return seeOther(replyUrl(request, { code }, deps.publicUrl()))
}

/** Null for all inboxes; a sentence if the choice is not complete. */
async function readInboxes(
  { db }: AuthorizeDeps,
  accountId: string,
  form: URLSearchParams,
): Promise<string[] | null | string> {
  const addresses = (form.get('addresses') ?? '').split(/[\s,;]+/).filter((one) => one !== '')
  const ticked = form.getAll('inbox')
  const isAll = form.get('all') === 'yes'
  const chosen = ticked.length + addresses.length
  if (isAll && chosen === 0) return null
  if (isAll) return 'Choose either all inboxes or some of them.'
  if (chosen === 0) return 'Choose at least one inbox.'
  if (chosen > INBOXES_MAX) return `Choose at most ${INBOXES_MAX} inboxes, or all.`
  const named = await Promise.all(addresses.map((one) => findOwnInbox(db, accountId, one)))
  const missing = named.indexOf(null)
  if (missing !== -1) return `The account has no inbox ${addresses[missing]}.`
  const ids = [...ticked, ...named.flatMap((inbox) => (inbox === null ? [] : [inbox.id]))]
  const known = await findInboxIds(db, accountId, ids)
  if (known.size < new Set(ids).size) return 'One of the inboxes does not exist any more.'
  return [...known]
}

function refusalUrl(
  { publicUrl }: AuthorizeDeps,
  replyTo: ReplyTo,
  { error, detail }: { error: string; detail: string },
): string {
  return replyUrl(replyTo, { error, error_description: detail }, publicUrl())
}

/** RFC 9700 §4.12: a browser must not repeat the form at the client. */
function seeOther(location: string): BinaryResponse {
  return {
    status: 303,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
    content: null,
  }
}
