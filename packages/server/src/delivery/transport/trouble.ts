// What keeps a host from carrying mail, told from what it says about the mail itself. Values only.

import type { RecipientOutcome, Stage } from '@mailroom/smtp/client/outgoing-mail.ts'
import type { Failure } from '@mailroom/smtp/client/smtp-client.ts'

export type Trouble = { readonly stage: Stage; readonly failure: Failure }

const SERVICE_CLOSING = 421
/** RFC 3207 §4: "Must issue a STARTTLS command first"; RFC 4954 §6: "Authentication required". */
const SECURITY_REQUIRED = 530

/**
 * What is wrong with the host, when that is why nothing came of it for anybody: the connection failed,
 * the server is closing, or it wants the TLS that could not be had. Other answers are answers, which
 * another host would only repeat; an end after the final dot is none of them, since the message may
 * have been taken.
 */
export function findTrouble(
  outcomes: readonly RecipientOutcome[],
  tls: string | null,
): Trouble | null {
  let found: Trouble | null = null
  for (const outcome of outcomes) {
    const trouble = troubleOf(outcome, tls)
    if (trouble === null) return null
    found ??= trouble
  }
  return found
}

function troubleOf(outcome: RecipientOutcome, tls: string | null): Trouble | null {
  const { kind } = outcome
  if (kind === 'unsent') return { stage: outcome.stage, failure: outcome.failure }
  if (kind !== 'refused') return null
  const { stage, reply } = outcome
  const isOfHost =
    reply.code === SERVICE_CLOSING || (reply.code === SECURITY_REQUIRED && tls === null)
  return isOfHost ? { stage, failure: { kind: 'reply', reply } } : null
}

/**
 * RFC 7435: in the clear rather than not at all, where nobody promised more. Under TLS 1.3 a server
 * tells that it gave up the handshake only after ours was done, by closing at EHLO.
 */
export function isOfHandshake({ stage, failure }: Trouble): boolean {
  return stage === 'starttls' || stage === 'tls' || (stage === 'ehlo' && failure.kind === 'network')
}

/** The server does not know us, or not any more: only the operator can change that. */
export function isOfCredentials({ stage, failure }: Trouble): boolean {
  return stage === 'auth' && isPermanent(failure)
}

/** The host wants no mail of us at all, and a host without TLS or AUTH is no such one. */
export function isRefusal({ stage, failure }: Trouble): boolean {
  return (stage === 'greeting' || stage === 'ehlo') && isPermanent(failure)
}

function isPermanent(failure: Failure): boolean {
  return failure.kind === 'reply' && failure.reply.code >= 500 && failure.reply.code <= 599
}
