// The certificate that STARTTLS shows: the operator's, or one made at the first start and kept in the
// data directory.

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SecureContext } from 'node:tls'
import type { Settings } from '#config/settings.ts'
import { makeSelfSignedCertificate, makeServerTls } from '#net/tls.ts'

/** Throws when the operator's files hold no certificate with its key. */
export async function openServerTls(
  settings: Pick<Settings, 'tlsFiles' | 'dataDir' | 'smtpHostname'>,
  nowMs: number,
): Promise<SecureContext> {
  const folder = join(settings.dataDir, 'tls')
  const files = settings.tlsFiles ?? {
    cert: join(folder, 'cert.pem'),
    key: join(folder, 'key.pem'),
  }
  if (settings.tlsFiles === null && !(await exists(files.key))) {
    const made = await makeSelfSignedCertificate(settings.smtpHostname, nowMs)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(files.cert, made.certificatePem, { mode: 0o600 })
    // The key comes last: where it is, the certificate is whole.
    await writeFile(files.key, made.privateKeyPem, { mode: 0o600 })
  }
  return makeServerTls({
    certificatePem: await readFile(files.cert, 'utf8'),
    privateKeyPem: await readFile(files.key, 'utf8'),
  })
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await readFile(path, 'utf8')).includes('END')
  } catch {
    return false
  }
}
