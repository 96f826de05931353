// Loads the files that a request attaches by reference. The message or draft gets its own copy, so
// it does not change when the upload expires or the other message is deleted.

import { FILES_BYTES_MAX } from '@mailroom/contract/sending.ts'
import type { AttachedFile, FileReference, GivenFile } from '#http/handler.ts'
import { filesTooLarge } from '#http/read-body.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import type { Parser } from '#parser/parser.ts'
import type { AppError, ErrorDetail } from '#platform/problem.ts'
import { problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { readChunks } from '#store/file-chunks.ts'
import type { Store } from '#store/store.ts'
import { findUpload, isReady, type ReadyUpload } from '#uploads/store/uploads.ts'

type FileDeps = Store & { parser: Parser }

type Asked = {
  accountId: string
  files: readonly GivenFile[]
  /** Must be called before files are loaded, because they stay in memory until they are sent. */
  takeSlot(): Promise<void>
  /** The path of the file in errors, if it is not in the list `attachments`. */
  within?: string
}

type Found =
  | { kind: 'given'; file: AttachedFile; sizeBytes: number }
  | { kind: 'upload'; file: FileReference; upload: ReadyUpload; sizeBytes: number }
  | { kind: 'message'; file: FileReference; message: Message; index: number; sizeBytes: number }
  | { kind: 'missing'; name: string; message: string }

/**
 * Throws `bad_request`, which names each upload or file that the account does not have, or
 * `payload_too_large`.
 */
export async function readGivenFiles(
  deps: FileDeps,
  { accountId, files, takeSlot, within }: Asked,
): Promise<AttachedFile[]> {
  const known = new Map<string, Message | null>()
  const found: Exclude<Found, { kind: 'missing' }>[] = []
  const missing: ErrorDetail[] = []
  for (const [index, file] of files.entries()) {
    const one = await findFile(deps, { accountId, file, known })
    if (one.kind !== 'missing') found.push(one)
    else {
      const path = within ?? `attachments[${index}].`
      missing.push({ path: `${path}${one.name}`, message: one.message })
    }
  }
  if (missing.length > 0) throw unknownFiles(missing)
  const totalBytes = found.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  if (totalBytes > FILES_BYTES_MAX) throw filesTooLarge(totalBytes)
  if (found.some(({ kind }) => kind !== 'given')) await takeSlot()
  const wanted = Map.groupBy(found.filter(isOfMessage), ({ message }) => message.id)
  const contents = new Map<string, Contents>()
  for (const [id, files] of wanted) contents.set(id, await readFilesOf(deps, files))
  const loaded: AttachedFile[] = []
  for (const one of found) loaded.push(await loadFile(deps, one, contents))
  return loaded
}

const UPLOAD_MISSING =
  'is not an upload of the account, has expired, was deleted, or its file has not arrived yet'
const MESSAGE_MISSING = 'is not a message of the account'

async function findFile(
  deps: FileDeps,
  {
    accountId,
    file,
    known,
  }: { accountId: string; file: GivenFile; known: Map<string, Message | null> },
): Promise<Found> {
  if ('content' in file) return { kind: 'given', file, sizeBytes: file.content.length }
  if ('uploadId' in file.source) {
    const asked = { accountId, uploadId: file.source.uploadId, nowMs: deps.clock.now() }
    const upload = await findUpload(deps.db, asked)
    if (upload === null || !isReady(upload)) {
      return { kind: 'missing', name: 'uploadId', message: UPLOAD_MISSING }
    }
    return { kind: 'upload', file, upload, sizeBytes: upload.size_bytes }
  }
  const { messageId } = file.source
  const message =
    known.get(messageId) ?? (await findMessage(deps.db, accountId, messageId, { lengthMax: 0 }))
  known.set(messageId, message)
  if (message === null) return { kind: 'missing', name: 'messageId', message: MESSAGE_MISSING }
  const index = message.attachments.findIndex(({ filename }) => filename === file.filename)
  const sizeBytes = message.attachments[index]?.sizeBytes
  if (sizeBytes === undefined) {
    return { kind: 'missing', name: 'filename', message: 'is not a file of the message' }
  }
  return { kind: 'message', file, message, index, sizeBytes }
}

function unknownFiles(missing: ErrorDetail[]): AppError {
  const [first] = missing
  const more = missing.length - 1
  const addition = more > 0 ? ` (and ${more} more ${more === 1 ? 'error' : 'errors'})` : ''
  const text = `The field "${first?.path}" ${first?.message}${addition}.`
  const fix =
    'Upload the file again with POST /v1/uploads, or name a file of GET /v1/messages/{id}.'
  return problem('bad_request', text, { details: missing, fix })
}

type OfMessage = Extract<Found, { kind: 'message' }>
/** The wanted files of a message, by their place among its files. */
type Contents = ReadonlyMap<number, Uint8Array>

function isOfMessage(found: Found): found is OfMessage {
  return found.kind === 'message'
}

async function loadFile(
  deps: FileDeps,
  found: Exclude<Found, { kind: 'missing' }>,
  contents: ReadonlyMap<string, Contents>,
): Promise<AttachedFile> {
  if (found.kind === 'given') return found.file
  const { contentId } = found.file
  if (found.kind === 'upload') {
    const { upload, file } = found
    return {
      filename: file.filename ?? upload.filename,
      contentType: file.contentType ?? upload.content_type,
      contentId,
      content: await readUpload(deps, upload),
    }
  }
  const { message, file, index } = found
  const content = contents.get(message.id)?.get(index)
  const attachment = message.attachments[index]
  if (content === undefined || attachment === undefined) throw unreadable()
  return {
    filename: attachment.filename,
    contentType: file.contentType ?? attachment.contentType,
    contentId,
    // A send frees the content, and another entry may name the same file.
    content: new Uint8Array(content),
  }
}

async function readUpload(deps: FileDeps, { id, size_bytes: end }: ReadyUpload) {
  const content = new Uint8Array(end)
  let at = 0
  for await (const piece of readChunks(deps, { fileId: id, start: 0, end })) {
    content.set(piece, at)
    at += piece.length
  }
  return content
}

/** Keeps copies of the wanted files only, because the rest of the message may be large. */
async function readFilesOf(deps: FileDeps, wanted: readonly OfMessage[]): Promise<Contents> {
  const [first] = wanted
  if (first === undefined) return new Map()
  const { message } = first
  const files = await deps.parser.readAttachments(await readRawBytes(deps, message.rawId))
  // A parser that runs out of time finds fewer files than the message lists.
  if (files.length !== message.attachments.length) throw unreadable()
  return new Map(
    wanted.map(({ index }) => [index, new Uint8Array(files[index]?.content ?? new Uint8Array())]),
  )
}

function unreadable(): AppError {
  const text = 'The files of the message could not be read in time.'
  return problem('service_unavailable', text, { retryAfterSeconds: RETRY_AFTER_SECONDS })
}
