// Stores attachments as files. The name of a received attachment is untrusted, so it never leads
// outside its folder and never overwrites a file.

import { randomUUID } from 'node:crypto'
import { rename, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { replaceUnseen } from '@mailroom/mail/unseen.ts'
import { type Mailroom, MailroomError } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import { openOutput } from '#base/output.ts'
import { plainBlock, plainLine } from '#base/plain-text.ts'
import { readFilesToSend } from '#base/read-attachments.ts'
import { openSession } from '#base/session.ts'
import { showItem } from '#base/show.ts'
import type { CommonOptions } from './run-operation.ts'

export type AttachmentOptions = CommonOptions & {
  readonly output?: string
  readonly force?: true
}

export async function saveAttachment(
  messageId: string,
  name: string,
  options: AttachmentOptions,
): Promise<void> {
  const output = openOutput({ isColored: options.color })
  if (options.output === '-' && output.isTerminal) {
    const fix = 'Give a path with -o, or redirect the output to a file or a program.'
    throw new Failure('usage', 'Refusing to write a file to a terminal.', fix)
  }
  const { client } = await openSession(options)
  const { content, contentType } = await byShownName(client, { messageId, name }, (filename) =>
    client.attachments.get(messageId, filename),
  )
  if (options.output === '-') return output.write(content)
  const path = await choosePath(options.output, name)
  await writeFileAt(path, content, options.force === true)
  const saved = { path, contentType, sizeBytes: content.length }
  if (options.json) output.json(saved)
  else output.write(`${plainLine(path)}\n`)
}

export async function showAttachmentText(
  messageId: string,
  name: string,
  options: CommonOptions,
): Promise<void> {
  const output = openOutput({ isColored: options.color })
  const { client } = await openSession(options)
  const read = await byShownName(client, { messageId, name }, (filename) =>
    client.attachments.text(messageId, filename),
  )
  if (options.json) return output.json(read)
  output.write(`${plainBlock(read.text)}\n`)
  if (read.isTruncated) output.note('The text is truncated.')
}

async function byShownName<Answer>(
  client: Mailroom,
  { messageId, name }: { messageId: string; name: string },
  ask: (filename: string) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask(name)
  } catch (error) {
    const isMissing = error instanceof MailroomError && error.status === 404
    const meant = isMissing ? await findShown(client, messageId, name) : undefined
    if (meant === undefined) throw error
    return ask(meant)
  }
}

/** The full name of an attachment whose printed name lacks some characters. */
async function findShown(client: Mailroom, messageId: string, name: string) {
  const { attachments } = await client.messages.get(messageId)
  const names = attachments.map(({ filename }) => filename)
  return names.find((one) => one !== name && plainLine(one) === plainLine(name))
}

/** Uses a file path as given; in a folder, the attachment keeps its name. */
async function choosePath(given: string | undefined, name: string): Promise<string> {
  if (given === undefined) return safeName(name)
  const isFolder = given.endsWith('/') || (await stat(given).catch(() => null))?.isDirectory()
  return isFolder ? join(given, safeName(name)) : given
}

/** File systems allow 255 bytes. */
const NAME_BYTES_MAX = 200
const ENDING = /\.\w{1,16}$/

/** One path component, not hidden, without characters that a shell or a file system interprets. */
export function safeName(name: string): string {
  const last = basename(plainLine(replaceUnseen(name, () => '')).replaceAll('\\', '/'))
  const plain = last.replaceAll(/[<>:"|?*\x00-\x1f]/g, '_').replace(/^[.\s-]+/, '_')
  const ending = ENDING.exec(plain)?.[0] ?? ''
  const most = NAME_BYTES_MAX - ending.length
  const stem = Buffer.from(plain.slice(0, plain.length - ending.length))
  // Drops a character of which only some bytes are left.
  const kept = new TextDecoder().decode(stem.subarray(0, most)).replace(/\ufffd+$/, '')
  return `${kept}${ending}`.trim() || 'attachment'
}

async function writeFileAt(path: string, content: Uint8Array, isForced: boolean): Promise<void> {
  try {
    if (!isForced) {
      // Fails if anything exists at the path, even a symbolic link.
      await writeFile(path, content, { flag: 'wx' })
      return
    }
    // Replaces a symbolic link itself instead of its target.
    const temporary = `${path}.${randomUUID()}`
    await writeFile(temporary, content, { flag: 'wx' })
    await rename(temporary, path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') {
      const fix = 'Give another path with -o, or --force to replace it.'
      throw new Failure('failed', `${plainLine(path)} exists already.`, fix)
    }
    throw new Failure('failed', `${plainLine(path)} cannot be written: ${message}.`)
  }
}

export async function attachToDraft(
  draftId: string,
  path: string,
  options: CommonOptions & { readonly ifMatch?: string },
): Promise<void> {
  const { client } = await openSession(options)
  const [file] = await readFilesToSend([path])
  if (file === undefined) throw new Failure('usage', 'There is no file.', 'Give its path.')
  const draft = await client.drafts.addAttachment(draftId, file, { ifMatch: options.ifMatch })
  const output = openOutput({ isColored: options.color })
  if (options.json) output.json(draft)
  else showItem(output, draft)
}
