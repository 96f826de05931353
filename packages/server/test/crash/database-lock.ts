// Another process that locks the embedded database.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'

const HOLD_LOCK = `
  const { DatabaseSync } = require('node:sqlite')
  const database = new DatabaseSync(process.argv[1], { timeout: 5000 })
  database.exec('BEGIN IMMEDIATE')
  process.stdout.write('locked')
  process.stdin.resume().on('end', () => process.exit())`

/** Holds the write lock until `release`, or the end of this process. */
export async function lockDatabase(t: TestContext, path: string) {
  const holder = spawn(process.execPath, ['-e', HOLD_LOCK, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  return {
    async release() {
      holder.stdin.end()
      await once(holder, 'close')
    },
  }
}
