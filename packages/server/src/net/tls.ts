// TLS for our own listeners: a context from PEM text, and a certificate of our own making for the
// time until the operator brings one. Knows no files.

import { createSecureContext, type SecureContext } from 'node:tls'

export type Certificate = {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

/** TLS 1.2 and newer. Throws when the texts are no certificate and key, or do not belong together. */
export function makeServerTls(certificate: Certificate): SecureContext {
  return createSecureContext({
    cert: certificate.certificatePem,
    key: certificate.privateKeyPem,
    minVersion: 'TLSv1.2',
  })
}

const VALID_YEARS = 10

/** A new EC P-256 key with a certificate for `hostname`, valid from `nowMs` for ten years. */
export async function makeSelfSignedCertificate(
  hostname: string,
  nowMs: number,
): Promise<Certificate> {
  // Loaded only here: it is needed once in the life of an installation and takes long to load.
  const { generate } = await import('selfsigned')
  const notBeforeDate = new Date(nowMs)
  const notAfterDate = new Date(nowMs)
  notAfterDate.setFullYear(notAfterDate.getFullYear() + VALID_YEARS)
  const made = await generate([{ name: 'commonName', value: hostname }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate,
    notAfterDate,
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: hostname }] },
    ],
  })
  return { certificatePem: made.cert, privateKeyPem: made.private }
}
