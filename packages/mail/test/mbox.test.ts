import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mboxEntry, readMbox, withCrlf } from '@mailroom/mail/mbox.ts'

const BYTES = 4 * 1024 * 1024

/** Octets that are taken beyond the result, as a multiple of the octets given. */
function memoryOf(bytes: number, run: () => Uint8Array): number {
  const before = process.memoryUsage()
  const result = run()
  const after = process.memoryUsage()
  const taken = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
  return (taken - result.length) / bytes
}

async function readBack(file: Uint8Array): Promise<(Uint8Array | null)[]> {
  const entries = await Array.fromAsync(
    readMbox(
      (async function* () {
        yield file
      })(),
      { bytesMax: 2 * BYTES },
    ),
  )
  return entries.map(({ raw }) => raw)
}

test('lines of a few octets take no more memory than others', async () => {
  const empty = Buffer.alloc(BYTES, '\n')
  assert.ok(memoryOf(BYTES, () => withCrlf(empty)) < 8)
  assert.deepEqual(withCrlf(Buffer.from('a\n\nb\r\nc\n')), Buffer.from('a\r\n\r\nb\r\nc\r\n'))

  const mail = Buffer.from('From \r\n>From \r\n'.repeat(BYTES / 14))
  const entry = () => Buffer.concat(mboxEntry(mail, { sender: 'a@b.example', dateMs: 0 }))
  assert.ok(memoryOf(BYTES, entry) < 8)
  const [back] = await readBack(entry())
  assert.ok(back && Buffer.compare(back, mail) === 0)
})
