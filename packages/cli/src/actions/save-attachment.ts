// An attachment as a file. Its name is a stranger's word: it never leads out of the folder that it is
// saved in, and never over a file that is there.

import { randomUUID } from 'node:crypto'
import { rename, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Mailroom, MailroomError } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import { openOutput } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { openSession } from '#session/open-session.ts'
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
    const fix = 'Give a path with -o, or send the output to a file or a program.'
    throw new Failure('usage', 'Refusing to write a file to a terminal.', fix)
  }
  const { client } = await openSession(options)
  const { content, contentType } = await client.attachments
    .get(messageId, name)
    .catch(async (error: unknown) => {
      const isMissing = error instanceof MailroomError && error.status === 404
      const meant = isMissing ? await findShown(client, messageId, name) : undefined
      if (meant === undefined) throw error
      return client.attachments.get(messageId, meant)
    })
  if (options.output === '-') return output.write(content)
  const path = await choosePath(options.output, name)
  await writeFileAt(path, content, options.force === true)
  const saved = { path, contentType, sizeBytes: content.length }
  if (options.json) output.json(saved)
  else output.write(`${plainLine(path)}\n`)
}

/** The name of which only a part can be shown, and so be written on a command line. */
async function findShown(client: Mailroom, messageId: string, name: string) {
  const { attachments } = await client.messages.get(messageId)
  const names = attachments.map(({ filename }) => filename)
  return names.find((one) => one !== name && plainLine(one) === plainLine(name))
}

/** A path that was given counts as it is; one of a folder takes the name of the attachment. */
async function choosePath(given: string | undefined, name: string): Promise<string> {
  if (given === undefined) return safeName(name)
  const isFolder = given.endsWith('/') || (await stat(given).catch(() => null))?.isDirectory()
  return isFolder ? join(given, safeName(name)) : given
}

/** File systems take 255 octets. */
const NAME_BYTES_MAX = 200
const ENDING = /\.\w{1,16}$/

/** One component, not hidden, without what a shell or a file system gives a meaning. */
export function safeName(name: string): string {
  const last = basename(plainLine(name).replaceAll('\\', '/'))
  const plain = last.replaceAll(/[<>:"|?*\x00-\x1f]/g, '_').replace(/^[.\s-]+/, '_')
  const ending = ENDING.exec(plain)?.[0] ?? ''
  const most = NAME_BYTES_MAX - ending.length
  const stem = Buffer.from(plain.slice(0, plain.length - ending.length))
  // A character that is cut in two is no character.
  const kept = new TextDecoder().decode(stem.subarray(0, most)).replace(/\ufffd+$/, '')
  return `${kept}${ending}`.trim() || 'attachment'
}

async function writeFileAt(path: string, content: Uint8Array, isForced: boolean): Promise<void> {
  try {
    if (!isForced) {
      // Fails on whatever is there, a link included.
      await writeFile(path, content, { flag: 'wx' })
      return
    }
    // The link is replaced, and not what it leads to.
    const temporary = `${path}.${randomUUID()}`
    await writeFile(temporary, content, { flag: 'wx' })
    await rename(temporary, path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') {
      const fix = 'Give another path with -o, or --force to replace it.'
      throw new Failure('failed', `${plainLine(path)} is there already.`, fix)
    }
    throw new Failure('failed', `${plainLine(path)} cannot be written: ${message}.`)
  }
}
