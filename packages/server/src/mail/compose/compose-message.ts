// A message out of its parts, as the octets that are signed and sent. The only file that knows
// nodemailer, which arranges the MIME tree and writes the fields of its parts; the fields that name
// people and threads are written here, because they are other people's text.

import { createHash } from 'node:crypto'
import type MailComposer from 'nodemailer/lib/mail-composer'
import { HEADER_WORD_LENGTH_MAX } from '#base/limits.ts'
import { safeFileNames } from '#mail/file-name.ts'
import { addressField, isInternational, type OutgoingMailbox } from './address-field.ts'
import { encodeTransfer, normaliseText, type TransferName, transferOf } from './encode-transfer.ts'
import { fold, singleLine, textField } from './header-text.ts'

export type OutgoingAttachment = {
  readonly filename: string
  readonly contentType: string
  readonly content: Uint8Array
  /** With or without angle brackets. */
  readonly contentId: string | null
  /** A file of type text is never shown inline: receivers would take it for more of the body. */
  readonly isInline: boolean
}

export type OutgoingMessage = {
  readonly from: OutgoingMailbox
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly replyTo: string | null
  readonly subject: string
  readonly text: string
  /** '' for none. */
  readonly html: string
  readonly inReplyTo: string | null
  readonly references: readonly string[]
  /** With angle brackets. */
  readonly messageId: string
  readonly dateMs: number
  readonly attachments: readonly OutgoingAttachment[]
  /** Further fields, of our own making; one that is written here anyway is left out. */
  readonly headers: readonly { readonly name: string; readonly value: string }[]
}

export type ComposedMessage = {
  readonly raw: Uint8Array
  /** Some address in the header is outside ASCII: only a server with SMTPUTF8 may have it. */
  readonly needsSmtpUtf8: boolean
}

/**
 * The same octets for the same message, with CRLF line ends only and no line over 998 octets. Bodies
 * are 7-bit; the header is ASCII but for international local parts. No field can add a field:
 * control characters and line separators become spaces or go, and what is not allowed where it
 * stands is left out (characters of addresses and identifiers) or replaced (content types that are
 * none, and those of messages and multiparts, which may not be encoded: application/octet-stream).
 * Names of attachments are made safe and unique as those of received mail are. Rejects with a
 * RangeError when an address or the Message-ID is longer than HEADER_WORD_LENGTH_MAX.
 */
export async function composeMessage(outgoing: OutgoingMessage): Promise<ComposedMessage> {
  composer ??= (await import('nodemailer/lib/mail-composer')).default
  const root = new composer(optionsOf(outgoing)).compile()
  const chunks: Buffer[] = [Buffer.from(`${writeFields(outgoing).join('\r\n')}\r\n`)]
  render(root, chunks)
  // Always one more: receivers take the last line end for the protocol's.
  chunks.push(LINE_END)
  const { from, to, cc, replyTo } = outgoing
  const addresses = [from.address, ...to, ...cc, replyTo ?? '']
  return { raw: Buffer.concat(chunks), needsSmtpUtf8: addresses.some(isInternational) }
}

type Composer = typeof MailComposer
type Options = NonNullable<ConstructorParameters<Composer>[0]>
type Attachment = NonNullable<Options['attachments']>[number]
type MimeNode = ReturnType<InstanceType<Composer>['compile']>

const LINE_END = Buffer.from('\r\n')
const OPAQUE_TYPE = 'application/octet-stream'
const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`{|}~-]{1,127}"
const CONTENT_TYPE = new RegExp(`^\\s*(${TOKEN}/${TOKEN})\\s*(;.*)?$`, 's')
const CHARSET = /;\s*charset\s*=\s*"?([A-Za-z0-9._:-]{1,40})"?\s*(?:;|$)/i
/** RFC 2045 §6.4: no encoding may be put on these, so their octets could change on the way. */
const COMPOSITE_TYPE = /^(?:message|multipart)\//
const CONTENT_ID_LENGTH_MAX = 250

// Loaded with the first message that is sent: it takes some 35 ms.
let composer: Composer | null = null

function writeFields(outgoing: OutgoingMessage): string[] {
  const { from, to, cc, replyTo, subject, inReplyTo, references } = outgoing
  const bare = (address: string) => ({ name: null, address })
  const fields = [addressField('From', [from]), addressField('To', to.map(bare))]
  if (cc.length > 0) fields.push(addressField('Cc', cc.map(bare)))
  if (replyTo !== null) fields.push(addressField('Reply-To', [bare(replyTo)]))
  if (singleLine(subject) !== '') fields.push(textField('Subject', subject))
  pushIds(fields, 'In-Reply-To', inReplyTo === null ? [] : [inReplyTo])
  pushIds(fields, 'References', references)
  for (const { name, value } of outgoing.headers) {
    if (FIELD_NAME.test(name) && !OWN_FIELDS.test(name) && singleLine(value) !== '') {
      fields.push(textField(name, value))
    }
  }
  return fields
}

const FIELD_NAME = /^[\x21-\x39\x3b-\x7e]{1,70}$/
const OWN_FIELDS =
  /^(?:from|sender|to|cc|bcc|reply-to|subject|in-reply-to|references|date|message-id|mime-version|content-.*)$/i

/** Identifiers outside ASCII can not be sent; one that no line could hold is folded within. */
function pushIds(fields: string[], name: string, ids: readonly string[]): void {
  const pieces = ids.flatMap((id) =>
    /[^\x00-\x7f]/.test(singleLine(id)) ? [] : pieceOf(writeId(id)),
  )
  if (pieces.length > 0) fields.push(fold(name, pieces))
}

function pieceOf(id: string): string[] {
  if (id === '<>') return []
  return [id.length > HEADER_WORD_LENGTH_MAX ? id.replace(LONG_RUN, '$&\r\n ') : id]
}

const LONG_RUN = new RegExp(`.{${HEADER_WORD_LENGTH_MAX}}(?=.)`, 'g')

function writeId(id: string): string {
  return `<${id.replace(/[^\x21-\x7e]|[<>]/g, '')}>`
}

function optionsOf(outgoing: OutgoingMessage): Options {
  const { attachments, dateMs } = outgoing
  const [text, html] = [normaliseText(outgoing.text), normaliseText(outgoing.html)]
  const messageId = writeId(outgoing.messageId)
  if (messageId.length > HEADER_WORD_LENGTH_MAX) throw new RangeError('Message-ID too long')
  const options: Options = {
    messageId,
    date: new Date(dateMs),
    // `=_` stands in no quoted-printable and no base64, so no body holds a delimiter.
    boundaryPrefix: '=_',
    baseBoundary: createHash('sha256').update(messageId).digest('hex').slice(0, 24),
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  if (html !== '') options.html = textPart(html)
  if (text !== '' || html === '') options.text = textPart(text)
  const names = safeFileNames(attachments.map(withoutEncodedWord))
  options.attachments = attachments.map((attachment, index) =>
    attachmentPart(attachment, names[index] ?? '', html !== ''),
  )
  return options
}

/** RFC 2047 §5 has no encoded words in parameters, but readers decode what looks like one. */
function withoutEncodedWord({ filename, contentType }: OutgoingAttachment) {
  return { filename: filename.replaceAll('=?', '=_'), contentType: writeContentType(contentType) }
}

function textPart(text: string) {
  const contentTransferEncoding = transferOf(text)
  // The composer calls 7bit only strings that it can see to be so, and takes '' for no part.
  if (contentTransferEncoding === '7bit') return { content: text, contentTransferEncoding }
  // Readers drop one line end after decoding; in base64 that would be the text's own.
  const needsEnd = contentTransferEncoding === 'base64' && text.endsWith('\n')
  const content = Buffer.from(needsEnd ? `${text}\r\n` : text)
  return { content, contentTransferEncoding }
}

function attachmentPart(
  { contentType, content, contentId, isInline }: OutgoingAttachment,
  filename: string,
  hasHtml: boolean,
): Attachment {
  const id = singleLine(contentId ?? '').replace(/[^\x21-\x7e]|[<>()[\]\\",;]/g, '')
  const type = writeContentType(contentType)
  const isShown = isInline && !type.startsWith('text/')
  const part: Attachment = {
    filename,
    contentType: type,
    contentTransferEncoding: 'base64',
    contentDisposition: isShown ? 'inline' : 'attachment',
    content: Buffer.from(content.buffer, content.byteOffset, content.byteLength),
  }
  if (id === '' || id.length > CONTENT_ID_LENGTH_MAX) return part
  // With `cid` the composer puts the part beside the HTML, in multipart/related.
  if (isShown && hasHtml) part.cid = id
  else part.headers = { 'Content-ID': `<${id}>` }
  return part
}

/** `type/subtype` in lower case, with the charset of a text and no other parameter. */
function writeContentType(contentType: string): string {
  const [, type, parameters] = CONTENT_TYPE.exec(singleLine(contentType)) ?? []
  const name = type?.toLowerCase() ?? OPAQUE_TYPE
  if (COMPOSITE_TYPE.test(name)) return OPAQUE_TYPE
  const charset = name.startsWith('text/') ? CHARSET.exec(parameters ?? '')?.[1] : undefined
  return charset === undefined ? name : `${name}; charset=${charset}`
}

/** At once, where the composer's own streams take five times as long for a short message. */
function render(node: MimeNode, chunks: Buffer[]): void {
  chunks.push(Buffer.from(`${node.buildHeaders()}\r\n\r\n`))
  if (node.boundary) {
    for (const child of node.childNodes) {
      chunks.push(Buffer.from(`--${node.boundary}\r\n`))
      render(child, chunks)
      chunks.push(LINE_END)
    }
    chunks.push(Buffer.from(`--${node.boundary}--`))
    return
  }
  const { content } = node
  const octets = typeof content === 'string' ? Buffer.from(content) : content
  if (!Buffer.isBuffer(octets)) throw new TypeError('content is not at hand')
  chunks.push(encodeTransfer(octets, transferNameOf(node)))
}

function transferNameOf(node: MimeNode): TransferName {
  const name = node.getTransferEncoding()
  if (name === '7bit' || name === 'quoted-printable' || name === 'base64') return name
  throw new TypeError(`unknown transfer encoding ${name}`)
}
