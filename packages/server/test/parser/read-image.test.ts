import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { openFileReader } from '#platform/workers/file-reader.ts'
import { openImageReader } from '#platform/workers/read-image.ts'

const PNG = Buffer.from('\x89PNG\r\n\x1a\nand more', 'latin1')

/** A program that stands for Tesseract: it gets the image and says what the script says. */
async function withProgram<Result>(
  script: string,
  run: (path: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-ocr-'))
  try {
    await writeFile(join(folder, 'tesseract'), `#!/bin/sh\n${script}\n`)
    await chmod(join(folder, 'tesseract'), 0o755)
    return await run(['/nowhere', folder, '/usr/bin', '/bin'].join(delimiter))
  } finally {
    await rm(folder, { recursive: true })
  }
}

const readBy = (script: string, options = {}) =>
  withProgram(script, async (path) => {
    const images = openImageReader(path, options)
    assert.ok(images !== null)
    const reader = openFileReader({ images })
    try {
      assert.equal(reader.readsImages, true)
      const file = { content: PNG, filename: 'a.png', contentType: 'image/png' }
      return await reader.read(file, { key: 'acc' })
    } finally {
      await reader.close()
    }
  })

test('a machine without the program reads no images', async () => {
  assert.equal(openImageReader('/nowhere'), null)
})

test('an image has the text that the program writes', async () => {
  const read = await readBy(`echo "$(wc -c) octets, by $*"; printf 'Grüße\\f'`)
  assert.deepEqual(
    [read.method, read.text, read.why],
    ['ocr', `${PNG.length} octets, by stdin stdout\nGrüße`, null],
  )
})

test('the program gets nothing of the environment but the path', async () => {
  process.env.TEST_MAILROOM_SECRET = 'secret'
  const { text } = await readBy('cat > /dev/null; env')
  delete process.env.TEST_MAILROOM_SECRET
  assert.match(text, /^PATH=/m)
  assert.doesNotMatch(text, /secret/)
})

test('a program that fails or takes too long leaves no text', async () => {
  const failed = await readBy('exit 1')
  assert.deepEqual(
    [failed.method, failed.why],
    ['failed', 'It is damaged, or no image that is read.'],
  )
  const slow = await readBy('exec sleep 60', { timeoutMs: 200 })
  assert.deepEqual([slow.method, slow.why], ['failed', 'Reading it takes more than 0.2 seconds.'])
  assert.equal(slow.mayPass, true)
})

test('an image that is being read when the service ends has no outcome', async () => {
  await withProgram('exec sleep 60', async (path) => {
    const reader = openFileReader({ images: openImageReader(path) })
    const file = { content: PNG, filename: 'a.png', contentType: 'image/png' }
    const read = reader.read(file, { key: 'acc' })
    await new Promise((resolve) => setTimeout(resolve, 100))
    await reader.close()
    await assert.rejects(read, { code: 'service_unavailable' })
  })
})
