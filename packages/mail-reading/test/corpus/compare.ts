// Compares what was read out of a message with what independent parsers agree on, field by field.
// Takes plain values, so that they may come from the parser or from the running service.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One line of an `expected-agreed.jsonl`; a missing field is one on which the parsers disagree. */
export type AgreedMessage = {
  readonly file: string
  readonly message_id?: string | null
  readonly subject?: string
  readonly in_reply_to?: readonly string[]
  readonly references?: readonly string[]
  readonly from?: readonly string[]
  readonly to?: readonly string[]
  readonly attachments?: readonly AgreedAttachment[]
}

export type AgreedAttachment = {
  readonly filename: string | null
  readonly contentType: string
  readonly size: number
  /** The first 16 hexadecimal digits of the content's SHA-256. */
  readonly sha256_16: string
}

/** What our side read. Identifiers with their brackets, addresses bare. */
export type ReadMessage = {
  readonly messageId: string | null
  readonly subject: string
  readonly inReplyTo: readonly string[]
  readonly references: readonly string[]
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly attachments: readonly ReadAttachment[]
}

export type ReadAttachment = {
  readonly filename: string
  readonly contentType: string
  readonly sizeBytes: number
  /** Hexadecimal SHA-256 of the content as downloaded. */
  readonly sha256: string
}

export type Difference = {
  readonly field: string
  readonly expected: unknown
  readonly actual: unknown
}

export type Comparison = {
  /** Header fields judged; those that parsers disagree on are not. */
  readonly headersJudged: number
  readonly headerDifferences: readonly Difference[]
  /** Attachments that the parsers agree on. */
  readonly attachmentsJudged: number
  /** Those of them that are not among ours, by their content. */
  readonly attachmentDifferences: readonly Difference[]
  /** Ours that the parsers do not list; enclosed messages mostly, which they merge into the text. */
  readonly superfluousAttachments: readonly ReadAttachment[]
}

/** Expected values by path below `folder`, over all its `expected-agreed.jsonl`. */
export function readAgreed(folder: string): Map<string, AgreedMessage> {
  const agreed = new Map<string, AgreedMessage>()
  for (const set of readdirSync(folder, { withFileTypes: true })) {
    if (!set.isDirectory()) continue
    for (const line of agreedLines(join(folder, set.name, 'expected-agreed.jsonl'))) {
      const message = JSON.parse(line) as AgreedMessage
      agreed.set(`${set.name}/${message.file}`, message)
    }
  }
  return agreed
}

export function compareMessage(expected: AgreedMessage, actual: ReadMessage): Comparison {
  const headerDifferences: Difference[] = []
  let headersJudged = 0
  for (const [field, isSame] of judgements(expected, actual)) {
    headersJudged += 1
    if (!isSame) {
      const name = FIELD_NAMES[field]
      headerDifferences.push({ field, expected: expected[field], actual: actual[name] })
    }
  }
  return { headersJudged, headerDifferences, ...compareAttachments(expected, actual) }
}

const FIELD_NAMES = {
  message_id: 'messageId',
  subject: 'subject',
  in_reply_to: 'inReplyTo',
  references: 'references',
  from: 'from',
  to: 'to',
} as const

type FieldName = keyof typeof FIELD_NAMES

function* judgements(
  expected: AgreedMessage,
  actual: ReadMessage,
): Generator<[FieldName, boolean]> {
  if (expected.message_id !== undefined) {
    yield ['message_id', expected.message_id === actual.messageId]
  }
  if (expected.subject !== undefined) {
    yield ['subject', isSameText(expected.subject, actual.subject)]
  }
  for (const field of ['in_reply_to', 'references'] as const) {
    if (expected[field] === undefined) continue
    yield [field, isSameList(expected[field], actual[FIELD_NAMES[field]])]
  }
  if (expected.from !== undefined) {
    const agreed = addressSet(expected.from)
    // The service shows one author; of several it must be one that the field holds.
    const isOneOf =
      agreed.length > 1 && actual.from.every((address) => agreed.includes(address.toLowerCase()))
    yield ['from', isOneOf || isSameList(agreed, addressSet(actual.from))]
  }
  if (expected.to !== undefined) {
    yield ['to', isSameList(addressSet(expected.to), addressSet(actual.to))]
  }
}

/** Order and letter case are not judged; '' stands for a name without an address. */
function addressSet(addresses: readonly string[]): string[] {
  return addresses
    .map((address) => address.toLowerCase())
    .filter((address) => address !== '')
    .sort()
}

/**
 * White space is compared folded. Where the agreed text holds U+FFFD nothing is agreed but that the
 * parsers could not decode it, so any other text may stand in its place.
 */
function isSameText(expected: string, actual: string): boolean {
  // Read as windows-1252, U+FFFD in UTF-8 is these three characters.
  const folded = foldSpace(expected.replaceAll('ï¿½', '\ufffd').replaceAll('\0', ''))
  if (!folded.includes('\ufffd')) return folded === foldSpace(actual)
  const known = folded
    .split(/[\ufffd\u0080-\u{10ffff}\x00-\x1f]+/u)
    .filter((text) => text.length > 3)
  let position = 0
  for (const text of known) {
    position = foldSpace(actual).indexOf(text, position)
    if (position < 0) return false
    position += text.length
  }
  return true
}

type AttachmentComparison = Omit<Comparison, 'headersJudged' | 'headerDifferences'>

/** By content; names and types are the parsers' taste, names moreover made safe and unique. */
function compareAttachments(expected: AgreedMessage, actual: ReadMessage): AttachmentComparison {
  const agreed = expected.attachments ?? []
  const attachmentDifferences: Difference[] = []
  const left = [...actual.attachments]
  for (const attachment of agreed) {
    const index = left.findIndex(({ sha256 }) => sha256.startsWith(attachment.sha256_16))
    if (index >= 0) left.splice(index, 1)
    else {
      const difference = { field: 'attachment', expected: attachment, actual: actual.attachments }
      attachmentDifferences.push(difference)
    }
  }
  const superfluousAttachments = expected.attachments === undefined ? [] : left
  return { attachmentsJudged: agreed.length, attachmentDifferences, superfluousAttachments }
}

function agreedLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function foldSpace(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function isSameList(expected: readonly string[], actual: readonly string[]): boolean {
  return (
    expected.length === actual.length && expected.every((text, index) => text === actual[index])
  )
}
