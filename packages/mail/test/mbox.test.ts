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

test('the limit of a message is that of its octets before they were quoted', async () => {
  const mail = Buffer.from('From \n'.repeat(10_000))
  const bytesMax = mail.length
  const file = (raw: Buffer) =>
    Buffer.concat(
      mboxEntry(raw, { sender: 'a@b.example', dateMs: 0 }).map((part) => Buffer.from(part)),
    )
  async function* inPieces(whole: Buffer) {
    for (let at = 0; at < whole.length; at += 1_000) yield whole.subarray(at, at + 1_000)
  }
  const after = file(Buffer.from('Subject: after\r\n\r\n'))
  const sizes = async (raw: Buffer) => {
    const read = readMbox(inPieces(Buffer.concat([file(raw), after])), { bytesMax })
    return (await Array.fromAsync(read)).map((entry) => entry.raw?.length ?? null)
  }
  const withCr = Buffer.from(`a\r\n${'From \r\n'.repeat(8_000)}`)
  assert.ok(withCr.length <= bytesMax)
  assert.deepEqual(await sizes(withCr), [withCr.length, 18])
  const large = Buffer.concat([Buffer.from('a\r\n'), Buffer.alloc(bytesMax, 'x')])
  assert.deepEqual(await sizes(large), [null, 18])
  const full = Buffer.from(`a\r\n${'From x\n'.repeat(100)}`.padEnd(bytesMax, 'From \n'))
  assert.deepEqual(await sizes(full), [bytesMax, 18])
})
