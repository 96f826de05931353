// The certificate that the mail door shows: names, time, and who vouches for it.

import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '#config/settings.ts'
import { type Aim, advice, bad, type Finding, good, notNeeded } from './finding.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
/** Those that renew themselves do so earlier. */
const DAYS_LEFT_ADVISED = 14

/** Of the operator, or the one that a start has made; null before it. */
export function readCertificate(
  settings: Pick<Settings, 'tlsFiles' | 'dataDir'>,
): X509Certificate | null {
  const file = settings.tlsFiles?.cert ?? join(settings.dataDir, 'tls', 'self-signed.pem')
  return existsSync(file) ? new X509Certificate(readFileSync(file)) : null
}

/** Most senders take any certificate, so that only one that has ended or is of another host is wrong. */
export function checkCertificate(settings: Settings, nowMs: number): Finding {
  const { smtpHostname, tlsFiles, delivery } = settings
  const aim: Aim = {
    check: 'certificate',
    expected: `one for ${smtpHostname} that is valid and that senders can verify`,
  }
  const certificate = readCertificate(settings)
  if (certificate === null) {
    return notNeeded(aim, 'there is none yet: the first start makes one that is self-signed')
  }
  const { validFromDate, validToDate } = certificate
  const until = `valid until ${validToDate.toISOString()}`
  if (validToDate.getTime() <= nowMs) {
    return bad(
      aim,
      `it expired at ${validToDate.toISOString()}`,
      'Renew it; the service loads the new one within a minute.',
    )
  }
  if (validFromDate.getTime() > nowMs) {
    const found = `it is not valid before ${validFromDate.toISOString()}`
    return bad(aim, found, 'Correct the clock, or wait until then.')
  }
  if (certificate.checkHost(smtpHostname) === undefined) {
    const found = `it is for ${certificate.subjectAltName ?? certificate.subject}`
    return bad(
      aim,
      found,
      `Get one for ${smtpHostname}, or set MAILROOM_SMTP_HOSTNAME to a name in it.`,
    )
  }
  if (isSelfSigned(certificate)) {
    const found = `a self-signed one for ${smtpHostname}, ${until}`
    if (delivery === 'sandbox') return notNeeded(aim, found)
    const setTo = tlsFiles === null ? 'Set MAILROOM_TLS_CERT and MAILROOM_TLS_KEY to' : 'Use'
    const fix = `${setTo} a certificate of a public authority: mail arrives encrypted without it, but senders that verify certificates (MTA-STS) do not deliver.`
    return advice(aim, found, fix)
  }
  const daysLeft = (validToDate.getTime() - nowMs) / DAY_MS
  if (daysLeft < DAYS_LEFT_ADVISED) {
    const fix = 'Renew it; automatic renewal should have happened by now.'
    return advice(
      aim,
      `it expires in ${Math.floor(daysLeft)} days, at ${validToDate.toISOString()}`,
      fix,
    )
  }
  return good(aim, `one for ${smtpHostname}, ${until}`)
}

function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.issuer === certificate.subject && certificate.verify(certificate.publicKey)
}
