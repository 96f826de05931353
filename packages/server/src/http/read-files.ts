// The files that a request sends along: from base64 or from a form to octets, once, and no more of them
// than a message can hold.

import { AppError } from '#base/app-error.ts'
import { FILES_BYTES_MAX } from '#base/limits.ts'
import { explainViolations, type Violation } from './explain-violations.ts'
import type { AttachedFile } from './handler.ts'

type CheckedAttachment = {
  readonly filename: string
  readonly contentType: string
  readonly data: string
  readonly contentId?: string
}

/**
 * `attachments` as the contract describes them; with `contents`, which a form has, their `data` says
 * nothing. Throws `payload_too_large` before anything is decoded, or `bad_request`.
 */
export function readFiles(
  attachments: readonly CheckedAttachment[],
  contents: readonly Uint8Array[] | null,
): AttachedFile[] {
  const sizes = contents?.map(({ length }) => length) ?? attachments.map(decodedLength)
  const totalBytes = sizes.reduce((sum, size) => sum + size, 0)
  if (totalBytes > FILES_BYTES_MAX) {
    throw new AppError(
      'payload_too_large',
      `The attachments hold ${totalBytes} octets together; at most ${FILES_BYTES_MAX} can be sent.`,
      { fix: 'Send fewer or smaller attachments.' },
    )
  }
  const violations: Violation[] = []
  const files = attachments.map(({ filename, contentType, contentId = null, data }, index) => {
    const content = contents === null ? decodeBase64(data) : contents[index]
    if (content) return { filename, contentType, contentId, content }
    violations.push({
      keyword: '',
      instancePath: `/attachments/${index}/data`,
      params: {},
      message: 'must be base64 with its padding (RFC 4648, section 4), without line breaks',
    })
    return null
  })
  if (violations.length > 0) throw explainViolations(violations, 'body')
  return files.filter((file) => file !== null)
}

function decodedLength({ data }: CheckedAttachment): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding)
}

/** Null unless encoding what was read gives `text` again: so no two texts mean the same octets. */
function decodeBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : null
}
