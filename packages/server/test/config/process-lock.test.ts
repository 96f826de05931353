import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { takeProcessLock } from '#platform/db/sqlite-connection.ts'

test('a lock file with other content is named, with the remedy', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'mailroom-lock-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'service.lock')
  writeFileSync(path, 'something else\n'.repeat(100))
  assert.throws(
    () => takeProcessLock(path),
    (error: Error) => error.message.includes(path) && error.message.includes('remove the file'),
  )
  rmSync(path)
  takeProcessLock(path)()
})
