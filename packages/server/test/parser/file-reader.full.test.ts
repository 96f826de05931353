import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { deflateSync } from 'node:zlib'
import { CONTENTS } from '@mailroom/mail-reading/test/files/sample-contents.ts'
import {
  docxWith,
  pdf,
  pdfOf,
  wordParagraph,
  xlsxWith,
} from '@mailroom/mail-reading/test/files/sample-files.ts'
import { type FileReader, openFileReader } from '#platform/workers/file-reader.ts'
import { cpuMsOf } from '#platform/workers/process-usage.ts'

const read = (content: Uint8Array, filename: string, by: FileReader) =>
  by.read({ content, filename, contentType: 'application/octet-stream' }, { key: 'acc' })

const [invoice] = CONTENTS
if (invoice === undefined) throw new Error('There are no contents.')
const good = pdf(invoice)

const isGood = async (by: FileReader) =>
  assert.equal((await read(good, 'good.pdf', by)).method, 'pdf')

/** A page of so many octets of nothing, packed into a thousandth of it. */
function pdfBomb(mebibytes: number): Uint8Array {
  const stream = deflateSync(Buffer.alloc(mebibytes * 1024 * 1024), { level: 1 }).toString('latin1')
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>',
    `<< /Filter /FlateDecode /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
  ])
}

/** Of a process that this one has started, and of all others none. */
function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => {
      try {
        return new RegExp(`^PPid:\\s+${pid}$`, 'm').test(
          readFileSync(`/proc/${child}/status`, 'utf8'),
        )
      } catch {
        return false
      }
    })
}

const readersOf = (pid: number) =>
  childrenOf(pid).filter((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('file-reader-entry')
    } catch {
      return false
    }
  })

/** A reader of its own, whose process is the only one of its kind. */
function testReading(
  name: string,
  run: (reader: FileReader) => Promise<void>,
  options: Parameters<typeof openFileReader>[0] = {},
): void {
  test(name, async () => {
    const reader = openFileReader(options)
    try {
      await run(reader)
    } finally {
      await reader.close()
    }
  })
}

testReading(
  'a PDF that inflates to 400 MiB has an outcome, and the next file is read',
  async (reader) => {
    const bomb = pdfBomb(400)
    assert.ok(bomb.length < 2 * 1024 * 1024)
    const { method, why } = await read(bomb, 'bomb.pdf', reader)
    assert.equal(method, 'failed')
    assert.match(why ?? '', /^Reading it takes more than (?:256 MiB of memory|10 seconds)\.$/)
    await isGood(reader)
  },
)

testReading(
  'a file that takes too long is given up, and may be read another time',
  async (reader) => {
    const found = await read(randomBytes(1_000_000), 'a.pdf', reader)
    assert.deepEqual([found.method, found.mayPass], ['failed', true])
    assert.equal(found.why, 'Reading it takes more than 0.001 seconds.')
  },
  { timeoutMs: 1 },
)

testReading('a process that dies says nothing about the next file', async (reader) => {
  await isGood(reader)
  const kill = () => {
    for (const pid of readersOf(process.pid)) process.kill(pid, 'SIGKILL')
  }
  kill()
  await isGood(reader)
  const large = docxWith(wordParagraph('word ').repeat(50_000))
  const killed = read(large, 'a.docx', reader)
  await pause(20)
  kill()
  assert.equal((await killed).method, 'office')
  await isGood(reader)
})

testReading('a file whose process is killed twice has failed', async (reader) => {
  await isGood(reader)
  const reading = read(docxWith('<w:p/>'.repeat(6_000_000)), 'a.docx', reader)
  const killed = new Set<number>()
  while (killed.size < 2) {
    await pause(20)
    const [pid] = readersOf(process.pid)
    if (pid === undefined || killed.has(pid)) continue
    // The second has started, which takes half a second, and reads.
    if (killed.size === 1 && ((await cpuMsOf(pid)) ?? 0) < 1_500) continue
    process.kill(pid, 'SIGKILL')
    killed.add(pid)
  }
  const { method, why } = await reading
  assert.deepEqual([method, why], ['failed', 'The program that reads it has failed.'])
  await isGood(reader)
})

testReading('the process has no environment and a low priority', async (reader) => {
  process.env.TEST_MAILROOM_SECRET = 'secret'
  await isGood(reader)
  delete process.env.TEST_MAILROOM_SECRET
  const [pid] = readersOf(process.pid)
  assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /secret|PATH=/)
  const nice = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]
  assert.equal(nice, '10')
  const flags = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  assert.match(flags, /--permission/)
  assert.doesNotMatch(flags, /--allow-(?:fs-write|child-process|worker|addons)/)
})

test('a closed reader refuses, and leaves no process', async () => {
  const reader = openFileReader()
  await isGood(reader)
  await reader.close()
  await assert.rejects(read(good, 'good.pdf', reader), { code: 'service_unavailable' })
  await pause(500)
  assert.deepEqual(readersOf(process.pid), [])
})

testReading(
  'workbooks with 10,000 sheets and with a million cells are read within the bounds',
  async (reader) => {
    const sheets = Array.from({ length: 10_000 }, (_, n) => ({
      name: `S${n}`,
      data: `<row><c r="A1"><v>${n}</v></c></row>`,
    }))
    const many = await read(xlsxWith(sheets), 'many.xlsx', reader)
    assert.deepEqual([many.method, many.why], ['office', null])
    const row = `<row>${'<c><v>12345</v></c>'.repeat(100)}</row>`
    const large = xlsxWith([{ name: 'Large', data: row.repeat(10_000) }])
    const cells = await read(large, 'cells.xlsx', reader)
    assert.deepEqual([cells.method, cells.isTruncated, cells.why], ['office', true, null])
  },
)

testReading('while a bomb is read, other work of this process is not held up', async (reader) => {
  const bomb = pdfBomb(512)
  const reading = { isDone: false }
  const done = read(bomb, 'bomb.pdf', reader).finally(() => {
    reading.isDone = true
  })
  let longestMs = 0
  while (!reading.isDone) {
    const before = process.cpuUsage()
    await pause(5)
    const { user, system } = process.cpuUsage(before)
    longestMs = Math.max(longestMs, (user + system) / 1_000)
  }
  await done
  // Processor time of this process within 5 ms: it sends the file and checks the memory of the other.
  assert.ok(longestMs < 100, `${longestMs} ms at once`)
})
