// Streams bodies that are files as they arrive. A form has one file, in its field `file`.

import type { Readable } from 'node:stream'
import { raceAbort } from '#platform/abort.ts'
import { type AppError, problem, wrongField } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import {
  boundaryOf,
  FORM_PART_HEAD_BYTES_MAX,
  malformedForm,
  type PartHead,
  readPartHeader,
  type Upload,
} from './read-body.ts'

type OpenUpload = {
  readonly chunks: AsyncIterable<Uint8Array>
  /** The type is final once the first chunk has arrived, or at the end of an empty file. */
  mediaType(): string | null
  /** Like `mediaType`; null if the body is not a form. */
  filename(): string | null
}

export type Bounds = {
  readonly bytesMax: number
  /** The `fix` for a larger file. */
  readonly fix: string
}

/** `chunks` rejects with `payload_too_large` or `bad_request`. */
export function openUpload({ payload, headers }: Upload, { bytesMax, fix }: Bounds): OpenUpload {
  const declared = Number(headers['content-length'] ?? 0)
  let mediaType = mediaTypeOf(headers['content-type'])
  let filename: string | null = null
  const isForm = mediaType === 'multipart/form-data'
  async function* read(): AsyncGenerator<Uint8Array> {
    if (declared > bytesMax + (isForm ? FORM_PART_HEAD_BYTES_MAX : 0))
      throw fileTooLarge({ bytesMax, fix })
    const arriving = inTime(payload)
    const parts = isForm
      ? readFilePart(arriving, boundaryOf(headers['content-type'] ?? ''), (head) => {
          mediaType = mediaTypeOf(head.contentType ?? undefined)
          filename = head.filename
        })
      : arriving
    let length = 0
    for await (const part of parts) {
      length += part.length
      if (length > bytesMax) throw fileTooLarge({ bytesMax, fix })
      yield part
    }
  }
  return {
    chunks: drained(payload, read()),
    mediaType: () => mediaType,
    filename: () => filename,
  }
}

const UPLOAD_IDLE_MS_MAX = 60 * SECOND_MS

async function* inTime(payload: Readable): AsyncGenerator<Buffer> {
  const parts = payload.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  try {
    for (;;) {
      const next = await raceAbort(parts.next(), { timeoutMs: UPLOAD_IDLE_MS_MAX })
      if (next === null) throw problem('request_timeout')
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // Its listener would pause the rest of the body. The call may be pending after a timeout.
    parts.return?.().catch(() => {})
  }
}

/** A client that is still writing does not read the response before the rest is drained. */
async function* drained(
  payload: Readable,
  parts: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* parts
  } finally {
    if (!payload.destroyed) payload.on('error', () => {}).resume()
  }
}

function mediaTypeOf(field: string | undefined): string | null {
  return field?.split(';')[0]?.trim().toLowerCase() || null
}

export function fileTooLarge({ bytesMax, fix }: Bounds): AppError {
  return problem('payload_too_large', `The file is larger than ${bytesMax} bytes.`, { fix })
}

const CRLF = '\r\n'

async function* readFilePart(
  payload: AsyncIterable<Buffer>,
  boundary: string,
  onHead: (head: PartHead) => void,
): AsyncGenerator<Uint8Array> {
  const delimiter = `${CRLF}--${boundary}`
  // The first delimiter may lack a line end, so one is added.
  let rest = Buffer.from(CRLF)
  let state: 'before' | 'head' | 'content' | 'after' = 'before'
  let hasFile = false
  for await (const chunk of payload) {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      if (state === 'before') {
        const at = rest.indexOf(delimiter)
        if (at === -1 && rest.length > FORM_PART_HEAD_BYTES_MAX)
          throw malformedForm('it begins wrong')
        if (at === -1) break
        rest = rest.subarray(at + delimiter.length)
        state = 'head'
      }
      if (state === 'head') {
        if (rest.length >= 2 && rest.toString('latin1', 0, 2) === '--') {
          state = 'after'
          break
        }
        const end = rest.indexOf(CRLF + CRLF)
        if (end === -1 && rest.length > FORM_PART_HEAD_BYTES_MAX) {
          throw malformedForm(`part 1 has a header of more than ${FORM_PART_HEAD_BYTES_MAX} bytes`)
        }
        if (end === -1) break
        if (hasFile) throw wrongField('file', 'must be the only part of the form')
        const head = readPartHeader(rest.toString('latin1', CRLF.length, end))
        if (typeof head === 'string') throw malformedForm(`part 1 ${head}`)
        if (head.name !== 'file')
          throw wrongField(head.name, 'is unknown; the file is in the field "file"')
        onHead(head)
        hasFile = true
        rest = rest.subarray(end + 2 * CRLF.length)
        state = 'content'
      }
      if (state === 'content') {
        const at = rest.indexOf(delimiter)
        if (at === -1) {
          const kept = Math.min(rest.length, delimiter.length)
          if (rest.length > kept) yield rest.subarray(0, rest.length - kept)
          rest = rest.subarray(rest.length - kept)
          break
        }
        if (at > 0) yield rest.subarray(0, at)
        rest = rest.subarray(at + delimiter.length)
        state = 'head'
      }
      if (state === 'after') break
    }
    if (state === 'after') rest = rest.subarray(0, 2)
  }
  if (state !== 'after') throw malformedForm('it ends too early')
  if (!hasFile) throw wrongField('file', 'is required')
}
