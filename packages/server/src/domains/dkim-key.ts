// A key that signs the mail of a domain, and its way from the first publication of its record to the
// end of it.

import { formatKeyRecord } from '@mailroom/mail/dkim.ts'

/** `standby`: to be published; `active`: signs; `retiring`: signs no more and is still published. */
export type DkimKeyState = 'standby' | 'active' | 'retiring'

export type DkimKey = {
  readonly id: string
  /** A domain's id, or SERVICE_OWNER. */
  readonly ownerId: string
  /** In lower-case A-labels. */
  readonly domain: string
  readonly selector: string
  readonly state: DkimKeyState
  /** Base64 of its SubjectPublicKeyInfo. */
  readonly publicKey: string
  /** Whether its domain is wrong without the record: not for one that has yet to be published, or was. */
  readonly isRequired: boolean
  /** When DNS was first seen to have it. */
  readonly publishedAtMs: number | null
  readonly activatedAtMs: number | null
  readonly retiredAtMs: number | null
  readonly createdAtMs: number
}

/** Whose key it is: those of a domain held by two accounts are different ones. */
export type DkimOwner = { readonly ownerId: string; readonly domain: string }

/** The owner of the keys of the inbox domain that the settings name. */
export const SERVICE_OWNER = 'service'

/**
 * One signs while the other is published, so that they can change places without a gap. Those of a custom
 * domain end in a text of its own, so that two accounts that want one domain do not share a name in DNS.
 */
export const DKIM_SELECTORS = { first: 'mr1', second: 'mr2' } as const

/** Where its record belongs. */
export function dkimKeyName({ selector, domain }: Pick<DkimKey, 'selector' | 'domain'>): string {
  return `${selector}._domainkey.${domain}`
}

/** The text of its record, `v=DKIM1; …`. */
export function dkimKeyRecord({ publicKey }: Pick<DkimKey, 'publicKey'>): string {
  return formatKeyRecord(publicKey)
}

/** What its private half is sealed under. */
export function dkimKeyContext({
  ownerId,
  domain,
  selector,
}: DkimOwner & Pick<DkimKey, 'selector'>): string {
  return `dkim:${ownerId}:${domain}:${selector}`
}
