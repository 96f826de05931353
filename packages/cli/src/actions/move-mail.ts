// Exports, imports and erasures, with local files and with progress on a terminal.

import { open, rename, rm } from 'node:fs/promises'
import { Writable } from 'node:stream'
import type { Erasure, Export, Import } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import { openOutput } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { openFile } from '#base/read-attachments.ts'
import { findInbox, openSession } from '#base/session.ts'
import { showItem } from '#base/show.ts'
import { type CommonOptions, confirmFor } from './run-operation.ts'

export type ExportOptions = CommonOptions & {
  readonly inbox?: string
  readonly pod?: string
  readonly format: Export['format']
  readonly output?: string
  readonly force?: true
}

const ENDINGS: Readonly<Record<Export['format'], string>> = {
  mbox: 'mbox',
  maildir: 'tar',
  jsonl: 'jsonl',
}

export async function exportMail(options: ExportOptions): Promise<void> {
  const output = openOutput({ isColored: options.color })
  if (options.inbox !== undefined && options.pod !== undefined) {
    throw new Failure('usage', 'Give either --inbox or --pod, not both.')
  }
  const session = await openSession(options)
  const { client } = session
  const { format, pod } = options
  const scope =
    pod === undefined ? { inboxId: await findInbox(session, options.inbox) } : { podId: pod }
  const { id } = await client.exports.create({ ...scope, format })
  const done = await client.exports.untilDone(id, {
    onProgress: (job) =>
      output.progress(
        `${job.status}: ${job.progress.done} of ${job.progress.total} messages${waitOf(job)}`,
      ),
  })
  if (done.status !== 'done') throw hasFailed('export', done)
  const path = options.output ?? `${done.inboxId ?? done.podId}.${ENDINGS[format]}`
  const sizeBytes = await save(await client.exports.stream(id), {
    path,
    isForced: options.force === true,
    onBytes: (bytes) => output.progress(`${bytes} of ${done.sizeBytes} bytes`),
  })
  const saved = { path, messages: done.progress.done, sizeBytes, id }
  if (options.json) output.json(saved)
  else output.write(`${plainLine(path)}\n`)
}

/** The file appears only when it is complete. */
async function save(
  content: ReadableStream<Uint8Array>,
  to: { path: string; isForced: boolean; onBytes(bytes: number): void },
): Promise<number> {
  const { path, isForced } = to
  const part = isForced ? `${path}.part` : path
  let bytes = 0
  const file = await open(part, isForced ? 'w' : 'wx').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST')
      throw new Failure('failed', `${plainLine(path)}: ${error.message}.`)
    const fix = 'Give another path with -o, or --force to replace it.'
    throw new Failure('failed', `${plainLine(path)} exists already.`, fix)
  })
  try {
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length
        to.onBytes(bytes)
        controller.enqueue(chunk)
      },
    })
    await content.pipeThrough(counted).pipeTo(Writable.toWeb(file.createWriteStream()))
    if (isForced) await rename(part, path)
    return bytes
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

export type ImportOptions = CommonOptions & {
  readonly inbox?: string
  readonly type?: string
  readonly read?: true
}

export async function importMail(path: string, options: ImportOptions): Promise<void> {
  const output = openOutput({ isColored: options.color })
  const file = await openFile(path)
  const session = await openSession(options)
  const { client } = session
  const inboxId = await findInbox(session, options.inbox)
  output.progress(`sending ${file.size} bytes`)
  const { id } = await client.imports.create(inboxId, file, {
    isRead: options.read === true,
    ...(options.type !== undefined && { type: options.type }),
  })
  const done = await client.imports.untilDone(id, {
    onProgress: (job) => {
      const { status, progress, imported, duplicates, failed } = job
      const percent = Math.floor((100 * progress.done) / Math.max(1, progress.total))
      const counts = `${imported} imported, ${duplicates} known, ${failed} failed`
      output.progress(`${status}: ${percent} %, ${counts}${waitOf(job)}`)
    },
  })
  if (options.json) output.json(done)
  else showItem(output, summaryOf(done))
  for (const { number, name, reason } of done.failures) {
    output.note(plainLine(`message ${number}${name === null ? '' : ` (${name})`}: ${reason}`))
  }
  if (done.status !== 'done') throw hasFailed('import', done)
}

function hasFailed(kind: string, { error, errorMessage }: Export | Import): Failure {
  return new Failure('failed', plainLine(`The ${kind} has failed: ${errorMessage ?? `${error}.`}`))
}

/** Why the job waits, as text; '' if it does not wait. */
function waitOf({ errorMessage }: Export | Import | Erasure): string {
  return errorMessage == null ? '' : plainLine(`, will be retried: ${errorMessage}`)
}

function summaryOf({ id, format, imported, duplicates, failed, skipped }: Import) {
  const words = Object.entries(skipped).flatMap(([why, count]) =>
    count === 0 ? [] : `${count} ${why}`,
  )
  return { id, format, imported, duplicates, failed, skipped: words.join(', ') || 'none' }
}

export type EraseOptions = CommonOptions & { readonly yes?: true }

/** Erases an address after confirmation and shows the receipt. */
export async function eraseAddress(address: string, options: EraseOptions): Promise<void> {
  const output = openOutput({ isColored: options.color })
  const { client } = await openSession(options)
  if (options.yes !== true) await confirmFor('erasures.create', address)
  const { id } = await client.erasures.create({ address })
  const done = await client.erasures.untilDone(id, {
    onProgress: (job) =>
      output.progress(`${job.status}: ${job.removed.messages} messages${waitOf(job)}`),
  })
  if (options.json) return output.json(done)
  showItem(output, receiptOf(done))
  for (const { place, note } of done.left) output.note(plainLine(`left: ${place}. ${note}`))
}

function receiptOf({ id, status, removed, completedAt }: Erasure) {
  return { id, status, ...removed, completedAt }
}
