// The files that a request sends along: from base64 or from a form to octets, once, and no more of them
// than a message can hold.

import { explainViolations, type Violation } from '#http/explain-violations.ts'
import type { AttachedFile } from '#http/handler.ts'
import { AppError } from '#platform/problem.ts'

/** Content of all files that one request sends along. */
export const FILES_BYTES_MAX = 25 * 1024 * 1024

type CheckedAttachment = {
  readonly filename: string
  readonly contentType: string
  data: string
  readonly contentId?: string
}

/**
 * `attachments` as the contract describes them, which lose their `data` once it is decoded; with `contents`, which a form has, their `data` says
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
      `The attachments have ${totalBytes} bytes in total; at most ${FILES_BYTES_MAX} are allowed.`,
      { fix: 'Send fewer or smaller attachments.' },
    )
  }
  const violations: Violation[] = []
  const files = attachments.map((attachment, index) => {
    const { filename, contentType, contentId = null } = attachment
    const content = contents === null ? decodeBase64(attachment.data) : contents[index]
    // The text is a third larger than the octets, and the request lasts until they are on disk.
    attachment.data = ''
    if (content) return { filename, contentType, contentId, content }
    violations.push({
      keyword: '',
      instancePath: `/attachments/${index}/data`,
      params: {},
      message: 'must be base64 with padding (RFC 4648, section 4), without line breaks',
    })
    return null
  })
  if (violations.length > 0) throw explainViolations(violations, 'body')
  return files.filter((file) => file !== null)
}

function decodedLength({ data }: Pick<CheckedAttachment, 'data'>): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding)
}

const OTHER_ALPHABET = /[-_]/

/**
 * Null unless encoding what was read would give `text` again: so no two texts mean the same octets.
 * The decoder passes over what it does not know, and then there are fewer octets; it knows `-` and
 * `_` as well, reads characters outside ASCII as others, and does not look at unused last bits.
 */
function decodeBase64(text: string): Uint8Array | null {
  const { length } = text
  if (length % 4 !== 0 || Buffer.byteLength(text) !== length || OTHER_ALPHABET.test(text)) {
    return null
  }
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length !== decodedLength({ data: text })) return null
  const lastQuantum = bytes.subarray(Math.max(0, Math.ceil(bytes.length / 3) - 1) * 3)
  return lastQuantum.toString('base64') === text.slice(-4) ? bytes : null
}
