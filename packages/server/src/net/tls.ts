// TLS for our own listeners: a context from PEM text, and a certificate of our own making for the
// time until the operator brings one. Knows no files.

import { once } from 'node:events'
import { createSecureContext, type SecureContext } from 'node:tls'
import { Worker } from 'node:worker_threads'

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

/** What the thread that makes a certificate is given as its `workerData`. */
export type CertificateRequest = { readonly hostname: string; readonly nowMs: number }

/** A new EC P-256 key with a certificate for `hostname`, valid from `nowMs` for ten years. */
export async function makeSelfSignedCertificate(
  hostname: string,
  nowMs: number,
): Promise<Certificate> {
  const worker = new Worker(new URL('./certificate-worker.ts', import.meta.url), {
    workerData: { hostname, nowMs } satisfies CertificateRequest,
  })
  const [certificate] = (await once(worker, 'message')) as [Certificate]
  return certificate
}
