// Starts the service once after an installation, so that its code is compiled for the real start.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp } from '#app/app.ts'
import { readSettings } from '#config/read-settings.ts'
import { silentLog } from '#platform/log.ts'
// Loads the modules that `serve` needs.
import './serve.ts'

/** Fills the code cache that `main.mjs` opened. A failure must not fail an installation. */
export async function warmUp(): Promise<void> {
  try {
    await startOnce()
  } catch (error) {
    process.stdout.write(`Nothing was compiled ahead: ${String(error)}\n`)
  }
}

async function startOnce(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'mailroom-warm-up-'))
  try {
    const reading = readSettings({
      MAILROOM_DATA_DIR: dataDir,
      MAILROOM_HTTP_PORT: '0',
      MAILROOM_SMTP_PORT: '0',
    })
    if (reading.kind === 'mistakes') throw new Error('An empty environment is a good one.')
    const app = await openApp(reading.settings, { log: silentLog })
    await app.deps.parser.parse(Buffer.from('Content-Type: text/html\r\n\r\n<p>warm</p>\r\n'))
    await app.close()
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
