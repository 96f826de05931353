// Files of mail are read while the service is killed again and again, and the process that reads them is not: it ends by
// itself. Each file has an outcome once, with one event, and its words are found.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { filePart, messageOf, multipart, textPart } from '@mailroom/mail/test/samples.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { docxWith, wordParagraph } from '@mailroom/mail-reading/test/files/sample-files.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { type KillTest, killTest } from './kills.ts'
import type { Service } from './service.ts'

const KILLS = sizeOf('TEST_MAILROOM_ATTACHMENT_KILLS', { usual: 3, long: 20 })
const MESSAGES = sizeOf('TEST_MAILROOM_ATTACHMENT_MAILS', { usual: 3, long: 12 })
/** Empty paragraphs that take a second or two. */
const PARAGRAPHS = 1_000_000
/** Those of one file, which is read for longer than its reader may outlive the service, or for too long. */
const PARAGRAPHS_OF_LONG = 6_500_000
/** A kill strikes after up to so many milliseconds of reading. */
const MOMENT_MS_MAX = 1_500
/** In which a process that reads a file notices that the service is gone. */
const ORPHAN_MS_MAX = 5_000
const LOOK_MS = 20
/** In which all files are read: a lease runs out after three minutes. */
const READ_MS_MAX = 6 * 60_000

suite('texts of attachments survive kill -9', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS }, readThroughKills)
  // After each kill the lease has to run out, which takes three minutes, since another process may read the files.
  killTest('postgres', { kills: Math.ceil(KILLS / 3) }, readThroughKills)
})

async function readThroughKills({ t, kills, random, start }: KillTest): Promise<void> {
  const service = await start()
  const { client } = service
  const inbox = await client.inboxes.create()
  for (let number = 0; number < MESSAGES; number++) await receive(service, inbox.address, number)
  const list = () => Array.fromAsync(client.messages.list(inbox.id, { limit: 100 }))
  /** The number of files that are read, and whether those are all, and whether a message has read and unread ones. */
  const progress = async () => {
    const messages = (await list()).map(({ attachments }) =>
      attachments.map(({ extractionMethod }) => extractionMethod !== null),
    )
    return {
      read: messages.flat().filter(Boolean).length,
      isWhole: messages.every((files) => files.every(Boolean)),
      isWithin: messages.some((files) => files.includes(true) && files.includes(false)),
    }
  }
  const isRead = async () => (await progress()).isWhole

  let struck = 0
  for (let kill = 0; kill < kills && !(await isRead()); kill++) {
    let readers: number[] = []
    // Each kill after one more file of the message was read, which must not be read again.
    await until(async () => {
      const { read, isWhole, isWithin } = await progress()
      readers = readersOf(service.pid)
      return isWhole || (read > kill && isWithin && readers.length > 0) || sleep(200, false)
    }, READ_MS_MAX)
    await sleep(random() * MOMENT_MS_MAX)
    readers = readersOf(service.pid)
    struck += readers.length
    await service.stop('SIGKILL')
    const deadlineMs = performance.now() + ORPHAN_MS_MAX
    while (readers.some(isReader)) {
      assert.ok(performance.now() < deadlineMs, 'A process that reads files outlives the service.')
      await sleep(LOOK_MS)
    }
    await service.start()
  }
  assert.ok(struck > 0, 'No kill struck a file that was read.')
  t.diagnostic(`${struck} kills struck the reading of a file`)

  // Seldom: the process that reads has the lowest priority.
  await until(async () => (await isRead()) || sleep(200, false), READ_MS_MAX)
  const outcomes = new Map<string, string>()
  for (const { id, attachments } of await list()) {
    for (const { filename, extractionMethod, parsedText } of attachments) {
      if (filename === 'long.docx') assert.match(extractionMethod ?? '', /^(?:office|failed)$/)
      outcomes.set(`${id} ${filename}`, `${extractionMethod} ${parsedText?.trim() ?? ''}`)
    }
  }
  const words = Array.from({ length: MESSAGES }, (_, number) => [
    `quokka${number}`,
    `numbat${number}`,
  ])
  const expected = words.flatMap((ofMessage) => [
    ...ofMessage.map((word) => `office ${word}`),
    'failed ',
  ])
  const ofOthers = [...outcomes].filter(([key]) => !key.endsWith('long.docx'))
  assert.equal(ofOthers.length, outcomes.size - 1)
  assert.deepEqual(ofOthers.map(([, outcome]) => outcome).sort(), expected.sort())

  const told = new Map<string, number>()
  for (const { event, message, attachment } of await service.listEvents()) {
    if (event !== 'attachment.extracted') continue
    const key = `${message?.id} ${attachment?.filename}`
    told.set(key, (told.get(key) ?? 0) + 1)
  }
  assert.deepEqual([...told.keys()].sort(), [...outcomes.keys()].sort())
  assert.deepEqual([...new Set(told.values())], [1])
  for (const word of words.flat()) {
    const search = () => client.messages.search({ q: word }).page()
    await until(async () => (await search()).total > 0)
    assert.equal((await search()).total, 1)
  }
  await service.stopWell()
}

async function receive(service: Service, to: string, number: number): Promise<void> {
  const slow = (word: string, paragraphs = PARAGRAPHS) =>
    docxWith(wordParagraph(word) + '<w:p/>'.repeat(paragraphs))
  const file = (name: string, content: Uint8Array) =>
    filePart(`${name}.docx`, content, 'application/octet-stream')
  const raw = messageOf(
    multipart('mixed', 'mix', [
      textPart(`Mail ${number}`),
      file('one', slow(`quokka${number}`)),
      ...(number === 0 ? [file('long', slow('long', PARAGRAPHS_OF_LONG))] : []),
      file('broken', Buffer.from('PK\x03\x04 no archive')),
      file('two', slow(`numbat${number}`)),
    ]),
  )
  const sender = await service.sender()
  assert.equal((await sender.send({ to, raw })).code, 250)
  await sender.quit()
}

/** The processes that a service has started to read files. */
function readersOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((child) => contentOf(child, 'status').includes(`\nPPid:\t${pid}\n`) && isReader(child))
}

function isReader(pid: number): boolean {
  return contentOf(pid, 'cmdline').includes('file-reader-entry')
}

function contentOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}
