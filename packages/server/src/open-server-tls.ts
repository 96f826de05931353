// The certificate that STARTTLS shows: the operator's, or one made at the first start and kept in the
// data directory.

import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SecureContext } from 'node:tls'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from '#base/chance.ts'
import { makePrivateFolder, syncFolder } from '#blobs/durable-folder.ts'
import type { Settings } from '#config/settings.ts'
import { type Certificate, makeSelfSignedCertificate, makeServerTls } from '#net/tls.ts'

/** Throws when the operator's files hold no certificate with its key. */
export async function openServerTls(
  settings: Pick<Settings, 'tlsFiles' | 'dataDir' | 'smtpHostname'>,
  nowMs: number,
): Promise<SecureContext> {
  if (settings.tlsFiles === null) return makeServerTls(await ownCertificate(settings, nowMs))
  const { cert, key } = settings.tlsFiles
  return makeServerTls({
    certificatePem: await readFile(cert, 'utf8'),
    privateKeyPem: await readFile(key, 'utf8'),
  })
}

/**
 * Made when absent. The pair is one file, put in its place whole: of two processes that start at
 * once, each may make one, and whichever stays is a certificate with its own key.
 */
async function ownCertificate(
  settings: Pick<Settings, 'dataDir' | 'smtpHostname'>,
  nowMs: number,
): Promise<Certificate> {
  const folder = join(settings.dataDir, 'tls')
  const file = join(folder, 'self-signed.pem')
  const kept = await readPair(file)
  if (kept !== null) return kept
  const made = await makeSelfSignedCertificate(settings.smtpHostname, nowMs)
  makePrivateFolder(folder)
  const draft = `${file}.${randomText(systemChance, LOWER_ALPHANUMERIC, 8)}`
  try {
    await writeFile(draft, made.privateKeyPem + made.certificatePem, { mode: 0o600, flush: true })
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(folder)
  return (await readPair(file)) ?? made
}

/** What is not a key or a certificate is passed over by whoever reads PEM (RFC 7468 §2). */
async function readPair(file: string): Promise<Certificate | null> {
  try {
    const pem = await readFile(file, 'utf8')
    return { certificatePem: pem, privateKeyPem: pem }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
