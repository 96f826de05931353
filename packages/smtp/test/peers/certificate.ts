// Self-signed certificates for tests.

import { generate } from 'selfsigned'

export type Certificate = { readonly certificatePem: string; readonly privateKeyPem: string }

export async function makeCertificate(hostname: string): Promise<Certificate> {
  const made = await generate([{ name: 'commonName', value: hostname }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: hostname }] },
    ],
  })
  return { certificatePem: made.cert, privateKeyPem: made.private }
}
