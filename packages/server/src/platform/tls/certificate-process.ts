// Prints one self-signed certificate. It is a process of its own because its library takes 24 MB
// and is needed once per installation.

import { generate } from 'selfsigned'
import type { Certificate } from './server-tls.ts'

const VALID_YEARS = 10

const [hostname = '', nowMs = ''] = process.argv.slice(2)
process.stdout.write(JSON.stringify(await make(hostname, Number(nowMs))))

async function make(hostname: string, nowMs: number): Promise<Certificate> {
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
