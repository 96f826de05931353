// TLS for our own listeners: a context from PEM text, and a certificate of our own making for the
// time until the operator brings one. Knows no files.

import { execFile } from 'node:child_process'
import { createSecureContext, type SecureContext } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

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

const runFile = promisify(execFile)

/** A new EC P-256 key with a certificate for `hostname`, valid from `nowMs` for ten years. */
export async function makeSelfSignedCertificate(
  hostname: string,
  nowMs: number,
): Promise<Certificate> {
  const program = fileURLToPath(new URL('./certificate-process.ts', import.meta.url))
  const { stdout } = await runFile(process.execPath, [program, hostname, String(nowMs)])
  return JSON.parse(stdout) as Certificate
}
