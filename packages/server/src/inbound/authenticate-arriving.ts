// Who sent an arriving message, as far as SPF, DKIM and DMARC can tell.

import { readDomainName } from '@mailroom/mail/address.ts'
import { readSignatureFields } from '@mailroom/mail/authentication.ts'
import type { ParsedHeaders } from '@mailroom/mail/mime/parsed-message.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
import { checkEmailAddress } from '#platform/email-address.ts'
import { type Authentication, policyRefusal } from './authentication.ts'

export type Authenticated = {
  /** Null where it was not looked at. */
  authentication: Authentication | null
  /** Why the policy of the From domain has it refused; null when it has not. */
  refusal: string | null
}

export type Authenticable = {
  raw: Uint8Array
  reversePath: string
  clientAddress: string | null
  helo: string | null
  origin: 'smtp' | 'service' | 'sandbox'
  /** Recipients of other kinds than inboxes have no say. */
  recipients: readonly {
    readonly kind: string
    readonly takesReports?: true
    readonly inbox?: { readonly address: string } | null
  }[]
}

/**
 * Asks nobody for mail from this service, which says itself who sent it. Mail for nobody but the
 * postmaster, abuse@ and return paths is not refused: it may be about the very refusals. Rejects never,
 * and takes no longer than AUTHENTICATE_MS_MAX after `reading` has settled.
 */
export async function authenticateArriving(
  deps: { authenticator: Authenticator | null; rejectDmarcFailures: boolean },
  arriving: Authenticable,
  reading: Promise<ParsedHeaders>,
): Promise<Authenticated> {
  if (arriving.origin === 'service') {
    return { authentication: ownMail(arriving.raw, await settled(reading)), refusal: null }
  }
  if (deps.authenticator === null) return { authentication: null, refusal: null }
  if (arriving.origin === 'sandbox' && !isSigned(arriving.raw)) {
    return { authentication: injectedMail(await settled(reading)), refusal: null }
  }
  const { raw, clientAddress, helo, reversePath } = arriving
  const found = await deps.authenticator.authenticate({
    raw,
    clientAddress,
    helo,
    reversePath,
    author: reading,
  })
  // What is written like an address and is none may be read as another's.
  const hasAddress = checkEmailAddress((await settled(reading))?.from?.address ?? '') === null
  const authentication = { ...found, verifiedFrom: found.verifiedFrom && hasAddress }
  const isRefusable =
    deps.rejectDmarcFailures && arriving.origin === 'smtp' && arriving.recipients.some(isReader)
  return { authentication, refusal: isRefusable ? policyRefusal(authentication) : null }
}

/** RFC 5321 §4.5.1: a postmaster hears everybody, in an inbox of this name as well. */
function isReader({ kind, takesReports, inbox }: Authenticable['recipients'][number]): boolean {
  return kind === 'inbox' && !takesReports && !inbox?.address.startsWith('postmaster@')
}

/** The signature on top is the service's own. */
function ownMail(raw: Uint8Array, headers: ParsedHeaders | null): Authentication {
  const [signer] = readSignatureFields(raw).signers
  return {
    spf: { result: 'none', domain: null },
    dkim: signer === undefined ? [] : [{ result: 'pass', ...signer }],
    dmarc: { result: 'pass', policy: null, domain: authorDomain(headers) },
    arc: { result: 'none' },
    verifiedFrom: true,
  }
}

/** Put in by hand, it came from no address, and there is nothing to ask DNS for. */
function injectedMail(headers: ParsedHeaders | null): Authentication {
  return {
    spf: { result: 'none', domain: null },
    dkim: [],
    dmarc: { result: 'none', policy: null, domain: authorDomain(headers) },
    arc: { result: 'none' },
    verifiedFrom: false,
  }
}

function isSigned(raw: Uint8Array): boolean {
  const { count, hasArc } = readSignatureFields(raw)
  return count > 0 || hasArc
}

function authorDomain(headers: ParsedHeaders | null): string | null {
  const address = headers?.from?.address ?? ''
  const at = address.lastIndexOf('@')
  return at < 0 ? null : readDomainName(address.slice(at + 1))
}

function settled<Value>(work: Promise<Value>): Promise<Value | null> {
  return work.catch(() => null)
}
