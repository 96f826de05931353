// DANE for SMTP (RFC 7672): whether the certificates that a server showed are those that its TLSA
// records name. Knows nothing of how the records were looked up; they must come with DNSSEC.

import { createHash, type X509Certificate } from 'node:crypto'

export type TlsaRecord = {
  readonly usage: number
  readonly selector: number
  readonly matchingType: number
  readonly data: Uint8Array
}

/** 'unusable': no record says anything we can check; TLS is then required, and nothing more. */
export type DaneVerdict = 'match' | 'mismatch' | 'unusable'

const DANE_TA = 2
const DANE_EE = 3
const CHAIN_LENGTH_MAX = 10
const DIGEST_OCTETS: Readonly<Record<number, number>> = { 1: 32, 2: 64 }

/**
 * `chain` is what the server showed, its own certificate first. Usage 3 binds the key alone: neither
 * name nor dates are looked at (RFC 7672 §3.1.1). Usage 2 wants a valid chain up to the named
 * certificate and `servername` in the first (§3.1.2). `nowMs` is wall-clock time.
 */
export function checkDane(
  chain: readonly X509Certificate[],
  records: readonly TlsaRecord[],
  servername: string,
  nowMs: number,
): DaneVerdict {
  const usable = records.filter(isUsable)
  if (usable.length === 0) return 'unusable'
  const [leaf] = chain
  if (leaf === undefined) return 'mismatch'
  const ends = usable.filter(({ usage }) => usage === DANE_EE)
  if (ends.some((record) => isNamed(leaf, record))) return 'match'
  const anchors = usable.filter(({ usage }) => usage === DANE_TA)
  const isTrusted =
    anchors.length > 0 &&
    leaf.checkHost(servername) !== undefined &&
    reachesAnchor(chain, leaf, anchors, nowMs)
  return isTrusted ? 'match' : 'mismatch'
}

/** PKIX usages 0 and 1 are not for SMTP (RFC 7672 §3.1.3). */
function isUsable({ usage, selector, matchingType, data }: TlsaRecord): boolean {
  if (usage !== DANE_TA && usage !== DANE_EE) return false
  if (selector !== 0 && selector !== 1) return false
  return matchingType === 0 ? data.length > 0 : DIGEST_OCTETS[matchingType] === data.length
}

function isNamed(certificate: X509Certificate, record: TlsaRecord): boolean {
  const { raw, publicKey } = certificate
  const octets = record.selector === 0 ? raw : publicKey.export({ type: 'spki', format: 'der' })
  if (record.matchingType === 0) return octets.equals(record.data)
  const digest = createHash(record.matchingType === 1 ? 'sha256' : 'sha512')
    .update(octets)
    .digest()
  return digest.equals(record.data)
}

/** Follows signatures, since TLS 1.3 lets a server show its certificates in any order. */
function reachesAnchor(
  chain: readonly X509Certificate[],
  leaf: X509Certificate,
  anchors: readonly TlsaRecord[],
  nowMs: number,
): boolean {
  const left = chain.filter((certificate) => certificate !== leaf)
  let current = leaf
  for (let length = 1; length <= CHAIN_LENGTH_MAX; length += 1) {
    if (!isInForce(current, nowMs)) return false
    if (anchors.some((record) => isNamed(current, record))) return true
    const at = left.findIndex((issuer) => isIssuer(issuer, current))
    const [issuer] = at === -1 ? [] : left.splice(at, 1)
    if (issuer === undefined) return false
    current = issuer
  }
  return false
}

function isIssuer(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function isInForce(certificate: X509Certificate, nowMs: number): boolean {
  return certificate.validFromDate.getTime() <= nowMs && nowMs <= certificate.validToDate.getTime()
}
