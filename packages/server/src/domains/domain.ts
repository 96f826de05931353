// A custom domain: whose it is, what DNS said of it, and what may be done with it.

import type {
  DnsRecordPurpose,
  DnsRecordStatus,
  DomainStatus,
} from '@mailroom/contract/vocabulary.ts'

export type { DomainStatus }

export type Domain = {
  id: string
  accountId: string
  /** Null where inboxes of every pod may be on it. */
  podId: string | null
  /** In lower-case A-labels. */
  domain: string
  status: DomainStatus
  /** What its ownership record has to hold. */
  ownershipToken: string
  /** Of the last check; empty before the first. */
  checks: RecordCheck[]
  inboxCount: number
  /** Whether its mail is this account's. Stays so in every state, until another account verifies it. */
  isHolder: boolean
  /** Whether MX and SPF name this service, so that bounces may come to an address on it. */
  takesBounces: boolean
  degradedAtMs: number | null
  nextCheckAtMs: number | null
  createdAtMs: number
  verifiedAtMs: number | null
  lastCheckedAtMs: number | null
}

/** What DNS has of one record. */
export type RecordCheck = {
  purpose: DnsRecordPurpose
  name: string
  /** What it was compared with: of another value it says nothing. */
  value: string
  status: DnsRecordStatus
  /** As DNS answered, each record a text. */
  found: string[]
  /** What to change; null where nothing is. */
  hint: string | null
}

/**
 * Whether mail that an inbox here sends to it stays here. Where its DNS has been wrong for so long that it
 * failed, mail goes where its MX record says, as that of everybody else does: nobody can keep the mail of
 * others to a domain that was theirs once.
 */
export function isLocal(domain: Pick<Domain, 'status' | 'isHolder' | 'checks'>): boolean {
  if (isUsable(domain)) return true
  return (
    domain.isHolder && domain.checks.some((one) => one.purpose === 'mx' && one.status === 'valid')
  )
}

/** Whether inboxes may be made on it, and those on it may send. */
export function isUsable({ status, isHolder }: Pick<Domain, 'status' | 'isHolder'>): boolean {
  return isHolder && (status === 'verified' || status === 'degraded')
}
