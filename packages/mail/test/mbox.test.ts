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

const LINE = 'From ann@a.example Tue Feb  3 04:05:06 2015\n'

/** The messages, read in pieces of every size up to this one. */
async function textsOf(file: string, sizeMax = 40): Promise<string[]> {
  const bytes = Buffer.from(file)
  const read = async (size: number) => {
    async function* inPieces() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    const entries = await Array.fromAsync(readMbox(inPieces(), { bytesMax: BYTES }))
    assert.equal(entries.at(-1)?.end, bytes.length)
    return entries.map(({ raw }) =>
      Buffer.from(raw ?? [])
        .toString()
        .replaceAll('\r\n', '\n'),
    )
  }
  const whole = await read(bytes.length)
  for (let size = 1; size < sizeMax; size++) assert.deepEqual(await read(size), whole, `by ${size}`)
  return whole
}

test('a line From without a time is text, unless the file has none with a time', async () => {
  const text = 'Subject: a\n\nHello\n\nFrom now on we meet at ten.\nFrom Tue to Fri.\n'
  for (const line of [
    LINE,
    'From - Tue Feb 03 04:05:06 2015\n',
    'From ann@a.example Tue Feb  3 04:05 2015\n',
    'From 1590@xxx Tue Feb 03 04:05:06 +0000 2015\n',
    'From ann at a.example  Tue Feb  3 04:05:06 CET 2015 remote from b\n',
    'From ann@a.example Tue, 3 Feb 2015 04:05:06 +0100\n',
    'From ann@a.example Tue Feb  3 04:05:06 2015\r\n',
  ]) {
    assert.deepEqual(await textsOf(`${line}${text}\n${line}Subject: b\n\nB\n\n`), [
      text,
      'Subject: b\n\nB\n',
    ])
  }
  const bare = 'From ann@a.example\n'
  assert.deepEqual(await textsOf(`${bare}Subject: a\n\nA\n\n${bare}Subject: b\n\nB\n\n`), [
    'Subject: a\n\nA\n',
    'Subject: b\n\nB\n',
  ])
})

test('a Content-Length that leads to the next message is believed, and no other', async () => {
  const body = `Forwarded:\n\n${LINE}Subject: inner\n\n>From here\n`
  const named = (length: number) => `Subject: a\nContent-Length: ${length}\n\n${body}`
  const next = `${LINE}Subject: b\n\nB\n\n`
  const right = named(body.length)
  assert.deepEqual(await textsOf(`${LINE}${right}\n${next}`), [right, 'Subject: b\n\nB\n'])
  assert.deepEqual(await textsOf(`${LINE}${right}${next}`), [right, 'Subject: b\n\nB\n'])
  assert.deepEqual(await textsOf(LINE + right), [right])
  for (const wrong of [body.length - 3, body.length + 9, 0, 999_999_999]) {
    assert.equal((await textsOf(`${LINE}${named(wrong)}\n${next}`, 2)).length, 3, String(wrong))
  }
})
