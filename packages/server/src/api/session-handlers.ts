// Sign-in is part of the server, because it limits failed attempts and must not pass on the key.

import type { CreateSession, Session as SessionShape } from '@mailroom/contract/sessions.ts'
import { requireOwnOrigin, type SignIn } from '#accounts/keys/keys.ts'
import {
  endedSessionCookie,
  type Sessions,
  type SignedIn,
  sessionCookie,
  sessionId,
} from '#accounts/sessions/sessions.ts'
import type { EventReaders } from '#http/event-readers.ts'
import type { Answered, Context } from '#http/handler.ts'
import { presentTime } from '#platform/clock.ts'
import { programVersion } from '#platform/program-version.ts'
import type { AnyHandler } from './routes.ts'

type SessionContext = Context & { readonly signedIn: SignedIn }

type SessionOperationId = 'session.create' | 'session.get' | 'session.delete'

export function sessionHandlers(options: {
  readonly signIn: SignIn
  readonly sessions: Pick<Sessions, 'end'>
  readonly readers: EventReaders
  readonly publicUrl: () => string
  readonly isSandbox: () => boolean
  readonly inboxDomain: string
}): Record<SessionOperationId, AnyHandler> {
  const { signIn, sessions, readers, publicUrl } = options
  const present = (signedIn: SignedIn) =>
    presentSession(signedIn, {
      publicUrl: publicUrl(),
      isSandbox: options.isSandbox(),
      inboxDomain: options.inboxDomain,
    })
  return {
    'session.create': async (
      { body }: { body: CreateSession },
      { headers, clientAddress }: Context,
    ): Promise<Answered<SessionShape>> => {
      requireOwnOrigin(headers, { publicUrl: publicUrl() })
      const made = await signIn(body.apiKey, { clientAddress, headers })
      return {
        status: 201,
        headers: { 'set-cookie': sessionCookie(made.cookie, publicUrl()) },
        body: present(made),
      }
    },
    'session.get': (_input: unknown, { signedIn }: SessionContext): SessionShape =>
      present(signedIn),
    'session.delete': async (
      _input: unknown,
      { signedIn: { session } }: SessionContext,
    ): Promise<Answered<undefined>> => {
      await sessions.end(session)
      readers.endReadersOfSession(sessionId(session))
      return {
        status: 204,
        headers: { 'set-cookie': endedSessionCookie(publicUrl()) },
        body: undefined,
      }
    },
  }
}

function presentSession(
  { session, account, key, approver }: SignedIn,
  service: Pick<SessionShape, 'publicUrl' | 'isSandbox' | 'inboxDomain'>,
): SessionShape {
  return {
    account: { id: account.id, name: account.name, plan: account.plan },
    key: key && { id: key.id, name: key.name, tokenPrefix: key.tokenPrefix, last4: key.last4 },
    approver: approver && { id: approver.id, name: approver.name },
    csrfToken: session.csrfToken,
    expiresAt: presentTime(session.expiresAtMs),
    ...service,
    version: programVersion(),
  }
}
