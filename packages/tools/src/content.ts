// The arguments for the content of a message, and their mapping to fields of the API.

import type { FileToSend, MessageToSend } from '@mailroom/sdk'
import { z } from 'zod'
import type { Access } from '#access.ts'
import { ToolProblem } from '#problem.ts'
import { findFile, noFile } from './attachment-tool.ts'
import { listedAs } from './tool.ts'

/** Maximum length of an address with its display name. */
const MAILBOX_LENGTH_MAX = 1_000
const SUBJECT_LENGTH_MAX = 998
const BODY_LENGTH_MAX = 100_000
const HTML_LENGTH_MAX = 500_000
/** Maximum addresses in a list; the service allows 50 in total. */
const ADDRESSES_MAX = 50
const FILES_MAX = 20
const FILE_LENGTH_MAX = 3_500_000

export const HELD =
  'A policy may hold the mail until a person approves it. Do not send held mail again, in other words or another way.'

const address = z.string().min(3).max(MAILBOX_LENGTH_MAX)

export const addresses = z.union([address, z.array(address).min(1).max(ADDRESSES_MAX)])
export const TO = 'One or more addresses, each bare or as Name <address>.'

export const subjectText = z.string().min(1).max(SUBJECT_LENGTH_MAX)
export const bodyText = z.string().max(BODY_LENGTH_MAX)
export const htmlText = z.string().max(HTML_LENGTH_MAX)
export const BODY = 'The text, in Markdown without HTML.'
export const HTML = 'HTML of your own; body is then its plain text, without Markdown.'
export const sendTime = z.iso.datetime({ offset: true })

const file = z.strictObject({
  filename: z.string().min(1).max(255),
  content_type: z.string().min(1).max(255),
  text: z.string().max(FILE_LENGTH_MAX).optional(),
  base64: z.base64().max(FILE_LENGTH_MAX).optional(),
})

/** The fields are in the description, because the whole schema is many times longer. */
export const attachments = listedAs(z.array(file).max(FILES_MAX), {
  type: 'array',
  items: { type: 'object' },
}).describe('Small files: {filename, content_type, and text or base64}.')

const FILE_NAME_LENGTH_MAX = 1_200

export const fileNames = z
  .array(z.string().min(1).max(FILE_NAME_LENGTH_MAX))
  .max(FILES_MAX)
  .optional()
  .describe('Uploads (upl_…), or files of messages (msg_…/filename).')

const EVENT_TEXT_LENGTH_MAX = 998
const SEQUENCE_MAX = 2 ** 31 - 1

const event = z.strictObject({
  start: z.string().max(40),
  end: z.string().max(40),
  timezone: z.string().max(64).optional(),
  summary: z.string().max(EVENT_TEXT_LENGTH_MAX).optional(),
  location: z.string().max(EVENT_TEXT_LENGTH_MAX).optional(),
  uid: z.string().max(255).optional(),
  sequence: z.int().min(0).max(SEQUENCE_MAX).optional(),
  method: z.enum(['request', 'cancel']).optional(),
})

const invite = listedAs(event, { type: 'object' }).describe(
  'An event to invite to: {start, end, timezone, summary, location}, with times such as 2026-12-01T10:00:00, or dates for whole days (end is the day after). To change one, add its uid and sequence + 1; method "cancel" cancels it.',
)

export const copiesShape = {
  cc: z.array(address).max(ADDRESSES_MAX).optional().describe('Copies.'),
  bcc: z.array(address).max(ADDRESSES_MAX).optional().describe('Hidden copies.'),
}

export const contentShape = {
  body: bodyText.min(1).describe(BODY),
  html: htmlText.optional().describe(HTML),
  ...copiesShape,
  send_at: sendTime
    .optional()
    .describe('When to send it, such as 2026-11-20T07:19:00Z; now if omitted.'),
  is_automatic: z
    .boolean()
    .optional()
    .describe('Set for unsolicited mail, so that programs do not answer it.'),
  files: fileNames,
  attachments: attachments.optional(),
  invite: invite.optional(),
}

export const MARKDOWN = { format: 'markdown' } as const

export type Content = z.output<z.ZodObject<typeof contentShape>>

export function listed(to: string | readonly string[]): string {
  return [to].flat().join(', ')
}

export function copiesOf({ cc = [], bcc = [] }: { cc?: string[]; bcc?: string[] }) {
  return { ...(cc.length > 0 ? { cc } : {}), ...(bcc.length > 0 ? { bcc } : {}) }
}

export async function contentOf(
  content: Content,
  access: Access,
): Promise<Omit<MessageToSend, 'to'>> {
  const { body, html, send_at: sendAt, is_automatic, invite: event } = content
  const files = await filesOf(content, access)
  return {
    body,
    ...(html === undefined ? MARKDOWN : { bodyHtml: html }),
    ...copiesOf(content),
    ...(sendAt === undefined ? {} : { sendAt }),
    ...(is_automatic === true ? { isAutomatic: true } : {}),
    ...(event === undefined ? {} : { invite: event }),
    ...(files.length === 0 ? {} : { attachments: files }),
  }
}

type Files = { attachments?: GivenFile[] | undefined; files?: string[] | undefined }

/** Rejects if a named message is outside the restriction of the connection. */
export async function filesOf(
  { attachments: given = [], files: names = [] }: Files,
  access: Access,
): Promise<FileToSend[]> {
  const files: FileToSend[] = given.map(fileOf)
  for (const name of names) files.push(await namedFile(name, access))
  return files
}

async function namedFile(text: string, access: Access): Promise<FileToSend> {
  if (/^upl_\w+$/.test(text)) return { uploadId: text }
  const [, messageId, name] = /^(msg_\w+)\/(.+)$/s.exec(text) ?? []
  if (messageId === undefined || name === undefined) {
    throw new ToolProblem(
      `${JSON.stringify(text)} is not a file. An entry of files is an id of upload_link (upl_…), or a message and its file: msg_…/filename.`,
    )
  }
  const message = await access.message(messageId)
  const file = findFile(message, name)
  if (file === undefined) throw noFile(message)
  return { messageId, filename: file.filename }
}

type GivenFile = z.output<typeof file>

function fileOf({ filename, content_type: contentType, text, base64 }: GivenFile) {
  if ((text === undefined) === (base64 === undefined)) {
    throw new ToolProblem(
      `The attachment ${JSON.stringify(filename)} needs either text or base64. Nothing was sent; call again with one of them.`,
    )
  }
  // Bytes in both cases, so that the same file is always recognized as the same content.
  const data = base64 === undefined ? new TextEncoder().encode(text) : fromBase64(base64)
  return { filename, contentType, data }
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}
