// Who sent an arriving message, and whether the domain that it claims to come from would have it.

import type { Authentication } from '@mailroom/mail/authentication.ts'

export type { Authentication, AuthenticationResult } from '@mailroom/mail/authentication.ts'

/** Why the From domain's policy has the message refused (RFC 9989 §5.4), as a reply says it; null when it has not. */
export function policyRefusal({ dmarc }: Authentication): string | null {
  if (dmarc.result !== 'fail' || dmarc.policy !== 'reject') return null
  return `The DMARC policy of ${dmarc.domain} has mail refused that it did not authenticate`
}
