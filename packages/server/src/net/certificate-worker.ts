// A thread that makes one self-signed certificate and ends: the library for it takes 24 MB, which are
// needed once in the life of an installation.

import { parentPort, workerData } from 'node:worker_threads'
import { generate } from 'selfsigned'
import type { Certificate, CertificateRequest } from './tls.ts'

const VALID_YEARS = 10

parentPort?.postMessage(await make(workerData as CertificateRequest))

async function make({ hostname, nowMs }: CertificateRequest): Promise<Certificate> {
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
