// One certificate for all services of a test run: making one takes a process and a third of a second.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeSelfSignedCertificate } from '#platform/tls/server-tls.ts'

const FOLDER_VARIABLE = 'TEST_MAILROOM_CERTIFICATE'

/** Creates it and passes it to the test processes by the environment. */
export async function makeTestCertificate(): Promise<{ remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-tls-'))
  const made = await makeSelfSignedCertificate('mailroom.localhost', Date.now())
  await writeFile(join(folder, 'cert.pem'), made.certificatePem)
  await writeFile(join(folder, 'key.pem'), made.privateKeyPem, { mode: 0o600 })
  process.env[FOLDER_VARIABLE] = folder
  return { remove: () => rm(folder, { recursive: true, force: true }) }
}

/** Settings with its path; none when a test file runs alone, whose services create their own. */
export function certificateSettings(): Record<string, string> {
  const folder = process.env[FOLDER_VARIABLE]
  if (folder === undefined) return {}
  return {
    MAILROOM_TLS_CERT: join(folder, 'cert.pem'),
    MAILROOM_TLS_KEY: join(folder, 'key.pem'),
  }
}
