import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mboxEntry } from '@mailroom/mail/mbox.ts'
import { MESSAGE_BYTES_MAX } from '@mailroom/smtp/server/session.ts'
import { readImport } from '#transfers/read-import.ts'

test('a message that is too large for the service is named, and the rest of the file is read', async () => {
  const from = { sender: 'ann@a.example', dateMs: 0 }
  const raw = Buffer.from('Subject: small\r\n\r\nText\r\n')
  const small = mboxEntry(raw, from)
  const large = Buffer.alloc(MESSAGE_BYTES_MAX + 1, 'x')
  large.write('Subject: large\r\n\r\n')
  async function* file() {
    yield* small
    yield* mboxEntry(large, from)
    yield* small
  }
  const items = await Array.fromAsync(readImport('mbox', file()))
  assert.deepEqual(
    items.map((item) => (item.kind === 'message' ? item.raw.length : item.reason)),
    [raw.length, `The message is larger than ${MESSAGE_BYTES_MAX} bytes.`, raw.length],
  )
})
