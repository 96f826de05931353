// The pages on which a person connects an assistant: plain HTML without scripts. All that a client
// chose is escaped.

import { CONNECTION_DAYS } from '@mailroom/contract/connections.ts'
import type { ConnectionScope } from '@mailroom/contract/vocabulary.ts'
import { shownLine } from '@mailroom/mail/unseen.ts'
import { escapeHtml } from '#http/answer.ts'
import type { BinaryResponse } from '#http/handler.ts'
import { leadingHeaders, linkPage } from '#http/link-page.ts'
import type { AuthorizationRequest, ReplyTo } from './authorization-request.ts'
import { isLoopback } from './model.ts'

type Page = {
  readonly request: AuthorizationRequest
  /** The request, sealed. */
  readonly sealed: string
  /** Explains why the form is shown again; null the first time. */
  readonly notice: string | null
  readonly status?: number
}

export function signInPage({ request, sealed, notice, status }: Page): BinaryResponse {
  return linkPage(
    'Connect an assistant',
    `${intro(request)}
${noticeOf(notice)}
<form method="post" action="/oauth/authorize">
<input type="hidden" name="request" value="${escapeHtml(sealed)}">
<label for="key">Sign in with an API key of the account. The assistant does not get the key.</label>
<input id="key" type="password" name="api_key" autocomplete="off" spellcheck="false" maxlength="200">
<p class="forms"><button name="decision" value="continue">Continue</button>
<button name="decision" value="deny">Cancel</button></p>
</form>`,
    { status: status ?? 200, headers: leadingHeaders(formTarget(request)) },
  )
}

type ShownInbox = { readonly id: string; readonly address: string }

export function consentPage({
  request,
  sealed,
  notice,
  status,
  accountName,
  inboxes,
  total,
}: Page & {
  readonly accountName: string
  readonly inboxes: readonly ShownInbox[]
  readonly total: number
}): BinaryResponse {
  const boxes = inboxes.map(
    ({ id, address }) =>
      `<label><input type="checkbox" name="inbox" value="${escapeHtml(id)}"> ${shown(address)}</label>`,
  )
  const more =
    total > inboxes.length
      ? `<label for="more">The account has ${total} inboxes. Addresses of others, one per line:</label>
<textarea id="more" name="addresses" rows="3" maxlength="8000"></textarea>`
      : ''
  const verbs = request.scopes.map(
    (scope) =>
      `<label><input type="checkbox" name="scope" value="${scope}" checked> ${SCOPE_TEXTS[scope]}</label>`,
  )
  const ends = [
    ...CONNECTION_DAYS.map((days) => [String(days), `${days} days`] as const),
    ['0', 'until it is revoked'] as const,
  ].map(([value, text], index) => {
    const isFirst = index === 0 ? ' checked' : ''
    return `<label><input type="radio" name="days" value="${value}"${isFirst}> ${text}</label>`
  })
  return linkPage(
    'What may the assistant do?',
    `${intro(request)}
<p>Account: <b>${shown(accountName)}</b></p>
${noticeOf(notice)}
<form method="post" action="/oauth/authorize">
<input type="hidden" name="request" value="${escapeHtml(sealed)}">
<fieldset><legend>Inboxes</legend>
${boxes.join('\n')}
${more}
<label><input type="checkbox" name="all" value="yes"> All inboxes of the account, including future ones</label>
</fieldset>
<fieldset><legend>It may</legend>
${verbs.join('\n')}
</fieldset>
<fieldset><legend>For how long</legend>
${ends.join('\n')}
</fieldset>
<p class="small">It can never approve held mail or change the policy, keys, domains or webhooks. The connection ends when it or the API key is revoked.</p>
<p class="forms"><button name="decision" value="allow">Connect</button>
<button name="decision" value="deny">Cancel</button></p>
</form>`,
    { status: status ?? 200, headers: leadingHeaders(formTarget(request)) },
  )
}

const SCOPE_TEXTS: Record<ConnectionScope, string> = {
  'mail:read': 'read mail: list, search and open messages and files',
  'mail:draft': 'write drafts, without sending them',
  'mail:send': 'send mail, within the policy of the account',
  'mail:organise':
    'organise mail: mark, label, claim and delete it, and create inboxes if it has access to all',
}

function intro({
  clientName,
  clientId,
  redirectUri,
  isLoopbackOnly,
}: AuthorizationRequest): string {
  const named = clientId.startsWith('https:')
    ? `It is described by <b>${shown(clientId)}</b>.`
    : 'This name has not been verified.'
  const warning = isLoopbackOnly
    ? '<p class="notice">Access is given to a program on this computer, and any other program here could pretend to be it. Continue only if you have just started the sign-in yourself.</p>'
    : ''
  return `<p>A program that calls itself <b>${shown(clientName)}</b> asks to use your mail. ${named} Afterwards you return to <b>${shown(placeOf(redirectUri))}</b>.</p>
${warning}`
}

/** The host to which a browser returns, or the scheme of a program. */
function placeOf(redirectUri: string): string {
  const url = new URL(redirectUri)
  if (url.protocol === 'https:') return url.host
  if (url.protocol === 'http:') return `${url.host}, a program on this computer`
  return `the program for ${url.protocol}`
}

/**
 * Sources for `form-action`, which browsers also apply to redirects after a form. Programs often
 * redirect again, to an https page of their maker.
 */
function formTarget({ redirectUri }: ReplyTo): string {
  const url = new URL(redirectUri)
  if (url.protocol === 'https:') return 'https:'
  // A source has no form for IPv6.
  const isSource = isLoopback(url) && url.hostname !== '[::1]'
  return `https: ${isSource ? url.origin : url.protocol}`
}

/** `reply` is the error response of the protocol, for a client that can be told. */
export function refusedRequestPage(
  description: string,
  {
    status = 400,
    reply = null,
  }: {
    readonly status?: number
    readonly reply?: { readonly to: ReplyTo; readonly url: string } | null
  } = {},
): BinaryResponse {
  const back =
    reply === null
      ? ''
      : `<p>Nobody has verified the program. If you started the sign-in yourself, you can
<a href="${escapeHtml(reply.url)}">return to <b>${shown(placeOf(reply.to.redirectUri))}</b></a>, which learns why.</p>`
  return linkPage(
    'The assistant cannot be connected',
    `<p>${shown(description)}</p>
<p>Nothing was changed. Start the sign-in again in the assistant; if this page appears again, report it to the maker of the assistant.</p>
${back}`,
    { status, ...(reply !== null && { headers: leadingHeaders(formTarget(reply.to)) }) },
  )
}

function noticeOf(notice: string | null): string {
  return notice === null ? '' : `<p class="notice" role="alert">${shown(notice)}</p>`
}

function shown(text: string): string {
  return escapeHtml(shownLine(text))
}
