import { createHash } from 'node:crypto'
import type MailComposer from 'nodemailer/lib/mail-composer'
import { bufferOf } from '#charset.ts'
import { safeFileNames } from '#file-name.ts'
import { parseStructured } from '#parameters.ts'
import {
  base64Length,
  encodeTransfer,
  normaliseText,
  type TransferName,
  transferOf,
  writeBase64,
} from './encode-transfer.ts'
import {
  addressField,
  fold,
  HEADER_WORD_LENGTH_MAX,
  isInternational,
  type OutgoingMailbox,
  singleLine,
  textField,
} from './header-text.ts'

/** Maximum characters. RFC 2392 sets no bound, but the identifier must fit on one line. */
const CONTENT_ID_LENGTH_MAX = 250
/** Content type parameters beyond this number are dropped. */
const CONTENT_TYPE_PARAMETERS_MAX = 10
const CONTENT_TYPE_PARAMETER_LENGTH_MAX = 100

type OutgoingAttachment = {
  readonly filename: string
  readonly contentType: string
  readonly content: Uint8Array
  /** An identifier that cannot be written in a header field is dropped. */
  readonly contentId: string | null
  /** Ignored for text files, which receivers would show as part of the body. */
  readonly isInline: boolean
  /** Whether the attachment is a calendar or another version of the body (RFC 6047 §2.4). */
  readonly isAlternative?: boolean
}

export type OutgoingMessage = {
  readonly from: OutgoingMailbox
  readonly to: readonly OutgoingMailbox[]
  readonly cc: readonly OutgoingMailbox[]
  readonly replyTo: OutgoingMailbox | null
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly inReplyTo: string | null
  readonly references: readonly string[]
  /** The Message-ID with angle brackets. */
  readonly messageId: string
  readonly dateMs: number
  readonly attachments: readonly OutgoingAttachment[]
  /** Printable ASCII for X-Loop that identifies the message if it comes back; null for no field. */
  readonly hopMark: string | null
  /** Absolute URL for one-click unsubscription by POST (RFC 8058 §3.1); null for no field. */
  readonly unsubscribeUrl: string | null
  /** Additional header fields. Names are tokens; values outside ASCII are encoded. */
  readonly extraFields: readonly { readonly name: string; readonly value: string }[]
}

type ComposedMessage = {
  readonly raw: Uint8Array
  /**
   * Whether a header address is outside ASCII, so that only a server with SMTPUTF8 may receive the
   * message.
   */
  readonly needsSmtpUtf8: boolean
}

/**
 * Composes a message deterministically: the same input always yields the same octets, with CRLF
 * line ends and no line over 998 octets. Bodies are 7-bit. The header is ASCII except for
 * international local parts. Input cannot inject header fields, because control characters and line
 * separators become spaces or are removed. Characters that are not allowed in addresses and
 * identifiers are dropped. An invalid content type becomes application/octet-stream, as do message
 * and multipart types, which may not be encoded. Attachment names are made safe and unique like
 * those of received mail. Rejects with a RangeError if an address, the Message-ID or the
 * unsubscribe link exceeds HEADER_WORD_LENGTH_MAX. Yields to the event loop after every
 * COMPOSE_STEP_BYTES of an attachment.
 */
export async function composeMessage(outgoing: OutgoingMessage): Promise<ComposedMessage> {
  composer ??= (await import('nodemailer/lib/mail-composer')).default
  const root = new composer(optionsOf(outgoing)).compile()
  const pieces: Piece[] = [Buffer.from(`${writeFields(outgoing).join('\r\n')}\r\n`)]
  render(root, pieces)
  // Receivers remove the last line end as part of the protocol, so one is added.
  pieces.push(LINE_END)
  const { from, to, cc, replyTo } = outgoing
  const mailboxes = [from, ...to, ...cc, ...(replyTo === null ? [] : [replyTo])]
  const needsSmtpUtf8 = mailboxes.some(({ address }) => isInternational(address))
  return { raw: await joinPieces(pieces), needsSmtpUtf8 }
}

/** Octets ready to send, or an attachment's octets, encoded when the pieces are joined. */
type Piece = Buffer | { readonly unencoded: Buffer }

async function joinPieces(pieces: readonly Piece[]): Promise<Uint8Array> {
  const sizes = pieces.map((piece) =>
    Buffer.isBuffer(piece) ? piece.length : base64Length(piece.unencoded.length),
  )
  const raw = Buffer.allocUnsafeSlow(sizes.reduce((sum, size) => sum + size, 0))
  let length = 0
  for (const [index, piece] of pieces.entries()) {
    if (Buffer.isBuffer(piece)) piece.copy(raw, length)
    else await writeBase64(piece.unencoded, raw, length)
    length += sizes[index] ?? 0
  }
  return raw
}

type Composer = typeof MailComposer
type Options = NonNullable<ConstructorParameters<Composer>[0]>
type Attachment = NonNullable<Options['attachments']>[number]
type MimeNode = ReturnType<InstanceType<Composer>['compile']>

const LINE_END = Buffer.from('\r\n')
const OPAQUE_TYPE = 'application/octet-stream'
const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`{|}~-]{1,127}"
const TOKEN_ONLY = new RegExp(`^${TOKEN}$`)
const CONTENT_TYPE = new RegExp(`^\\s*(${TOKEN}/${TOKEN})\\s*(;.*)?$`, 's')
/** Types that may not be encoded (RFC 2045 §6.4), so their octets could change in transit. */
const COMPOSITE_TYPE = /^(?:message|multipart)\//
const CONTENT_ID = /^[\x21-\x7e]+$/
const NO_CONTENT_ID = /[<>()[\]\\",;]/
const PARAMETER_NAME = /^[a-z0-9][a-z0-9!#$&+.^_-]{0,39}$/
const PARAMETER_TEXT = /^[\x20-\x7e]+$/
/** Content type parameters that the composer writes itself. */
const OWN_PARAMETERS = new Set(['name', 'boundary'])

// Loaded with the first sent message, because loading takes about 35 ms.
let composer: Composer | null = null

function writeFields(outgoing: OutgoingMessage): string[] {
  const { from, to, cc, replyTo, subject, inReplyTo, references } = outgoing
  const { hopMark, unsubscribeUrl } = outgoing
  const fields = [addressField('From', [from]), addressField('To', to)]
  if (cc.length > 0) fields.push(addressField('Cc', cc))
  if (replyTo !== null) fields.push(addressField('Reply-To', [replyTo]))
  if (singleLine(subject) !== '') fields.push(textField('Subject', subject))
  pushIds(fields, 'In-Reply-To', inReplyTo === null ? [] : [inReplyTo])
  pushIds(fields, 'References', references)
  if (hopMark !== null) fields.push(`X-Loop: ${writeUri(hopMark)}`)
  if (unsubscribeUrl !== null) {
    // RFC 2369 §2 requires angle brackets. The URL is on one line, because many readers do not
    // unfold.
    fields.push(`List-Unsubscribe: <${writeUri(unsubscribeUrl)}>`)
    fields.push('List-Unsubscribe-Post: List-Unsubscribe=One-Click')
  }
  for (const { name, value } of outgoing.extraFields) fields.push(textField(name, value))
  return fields
}

/** Returns a message from `composeMessage`, which writes the Date field in one line, redated. */
export function withDate(raw: Uint8Array, dateMs: number): Uint8Array {
  const bytes = bufferOf(raw)
  const start = bytes.indexOf('\r\nDate: ') + 2
  const end = bytes.indexOf('\r\n', start)
  const isInHeader = start > 1 && start < bytes.indexOf('\r\n\r\n')
  if (!isInHeader) throw new RangeError('The message has no Date field')
  // The composer's own date format.
  const field = `Date: ${new Date(dateMs).toUTCString().replace('GMT', '+0000')}`
  return Buffer.concat([bytes.subarray(0, start), Buffer.from(field), bytes.subarray(end)])
}

/** Removes the characters that could end the URI. */
function writeUri(text: string): string {
  if (text.length > HEADER_WORD_LENGTH_MAX) throw new RangeError('Link or mark too long')
  return text.replace(UNBRACKETED, '')
}

/** Drops identifiers outside ASCII and folds overlong ones. */
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

/** Characters that are not allowed in angle brackets. */
const UNBRACKETED = /[^\x21-\x7e]|[<>]/g

const LONG_RUN = new RegExp(`.{${HEADER_WORD_LENGTH_MAX}}(?=.)`, 'g')

function writeId(id: string): string {
  return `<${id.replace(UNBRACKETED, '')}>`
}

function optionsOf(outgoing: OutgoingMessage): Options {
  const { attachments, dateMs } = outgoing
  const [text, html] = [normaliseText(outgoing.text), normaliseText(outgoing.html)]
  const messageId = writeId(outgoing.messageId)
  if (messageId.length > HEADER_WORD_LENGTH_MAX) throw new RangeError('Message-ID too long')
  const options: Options = {
    messageId,
    date: new Date(dateMs),
    // Neither quoted-printable nor base64 contains `=_`, so no body contains a delimiter.
    boundaryPrefix: '=_',
    baseBoundary: createHash('sha256').update(messageId).digest('hex').slice(0, 24),
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  if (html !== '') options.html = textPart(html)
  if (text !== '' || html === '') options.text = textPart(text)
  const parts = attachmentParts(attachments, html !== '')
  options.attachments = parts.filter((_, index) => !attachments[index]?.isAlternative)
  options.alternatives = parts.filter((_, index) => attachments[index]?.isAlternative)
  return options
}

type ComposedFile = {
  readonly filename: string
  readonly contentType: string
  /** The Content-ID without angle brackets; null if there is none. */
  readonly contentId: string | null
  readonly content: Uint8Array
}

/** The attached files in the order of the message's parts, named and typed as in their headers. */
export function composedFiles({
  attachments,
  html,
}: Pick<OutgoingMessage, 'attachments' | 'html'>): ComposedFile[] {
  const parts = attachmentParts(attachments, normaliseText(html) !== '')
  const files = parts.map(({ filename, contentType, cid }, index) => ({
    filename: String(filename),
    contentType: String(contentType),
    contentId: writeContentId(attachments[index]?.contentId ?? ''),
    content: attachments[index]?.content ?? NOTHING,
    place: placeOf(attachments[index], cid !== undefined),
  }))
  return files.sort((a, b) => a.place - b.place).map(({ place: _, ...file }) => file)
}

/** Sort order of the parts: 0 beside the HTML, 1 as an alternative of the body, 2 after it. */
function placeOf(attachment: OutgoingAttachment | undefined, isBesideHtml: boolean): number {
  if (attachment?.isAlternative) return 1
  return isBesideHtml ? 0 : 2
}

const NOTHING = new Uint8Array()

function attachmentParts(attachments: readonly OutgoingAttachment[], hasHtml: boolean) {
  const names = safeFileNames(attachments.map(withoutEncodedWord))
  return attachments.map((attachment, index) =>
    attachmentPart(attachment, names[index] ?? '', hasHtml),
  )
}

/**
 * Breaks up `=?` in the file name: RFC 2047 §5 allows no encoded words in parameters, but readers
 * decode anything that looks like one.
 */
function withoutEncodedWord({ filename, contentType }: OutgoingAttachment) {
  return { filename: filename.replaceAll('=?', '=_'), contentType: writeContentType(contentType) }
}

function textPart(text: string) {
  const contentTransferEncoding = transferOf(text)
  // The composer recognises 7bit only in strings, and treats '' as a missing part.
  if (contentTransferEncoding === '7bit') return { content: text, contentTransferEncoding }
  // Readers drop one line end after decoding, and base64 would include that of the text itself.
  const needsEnd = contentTransferEncoding === 'base64' && text.endsWith('\n')
  const content = Buffer.from(needsEnd ? `${text}\r\n` : text)
  return { content, contentTransferEncoding }
}

function attachmentPart(
  { contentType, content, contentId, isInline, isAlternative }: OutgoingAttachment,
  filename: string,
  hasHtml: boolean,
): Attachment {
  const id = writeContentId(contentId ?? '')
  const type = writeContentType(contentType)
  const isShown = isInline && !isAlternative && !type.startsWith('text/')
  const part: Attachment = {
    filename,
    contentType: type,
    contentTransferEncoding: 'base64',
    contentDisposition: isShown ? 'inline' : 'attachment',
    content: bufferOf(content),
  }
  if (id === null) return part
  // With `cid`, the composer puts the part beside the HTML in multipart/related.
  if (isShown && hasHtml) part.cid = id
  else part.headers = { 'Content-ID': `<${id}>` }
  return part
}

/** The identifier without angle brackets; null if it cannot be written unchanged. */
function writeContentId(contentId: string): string | null {
  const id = /^<(.*)>$/s.exec(contentId)?.[1] ?? contentId
  if (id.length > CONTENT_ID_LENGTH_MAX || !CONTENT_ID.test(id) || NO_CONTENT_ID.test(id)) {
    return null
  }
  return id
}

/**
 * `type/subtype` in lower case, with its well-formed and meaningful parameters; octets if it is
 * malformed or names a type that has parts.
 */
export function writeContentType(contentType: string): string {
  const line = singleLine(contentType)
  const name = CONTENT_TYPE.exec(line)?.[1]?.toLowerCase() ?? OPAQUE_TYPE
  if (COMPOSITE_TYPE.test(name)) return OPAQUE_TYPE
  const parameters = [...parseStructured(line).parameters]
    .filter(([parameter, text]) => !OWN_PARAMETERS.has(parameter) && isWritable(parameter, text))
    .slice(0, CONTENT_TYPE_PARAMETERS_MAX)
  return [name, ...parameters.map(([parameter, text]) => `${parameter}=${quoted(text)}`)].join('; ')
}

function isWritable(parameter: string, text: string): boolean {
  if (!PARAMETER_NAME.test(parameter) || text.length > CONTENT_TYPE_PARAMETER_LENGTH_MAX)
    return false
  if (parameter === 'charset') return TOKEN_ONLY.test(text)
  return PARAMETER_TEXT.test(text) && !text.includes('=?')
}

function quoted(text: string): string {
  return TOKEN_ONLY.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&')}"`
}

/** Renders synchronously: the composer's streams take five times as long for short messages. */
function render(node: MimeNode, pieces: Piece[]): void {
  pieces.push(Buffer.from(`${node.buildHeaders()}\r\n\r\n`))
  if (node.boundary) {
    for (const child of node.childNodes) {
      pieces.push(Buffer.from(`--${node.boundary}\r\n`))
      render(child, pieces)
      pieces.push(LINE_END)
    }
    pieces.push(Buffer.from(`--${node.boundary}--`))
    return
  }
  const { content } = node
  const octets = typeof content === 'string' ? Buffer.from(content) : content
  if (!Buffer.isBuffer(octets)) throw new TypeError('content is not at hand')
  const transfer = transferNameOf(node)
  pieces.push(transfer === 'base64' ? { unencoded: octets } : encodeTransfer(octets, transfer))
}

function transferNameOf(node: MimeNode): TransferName {
  const name = node.getTransferEncoding()
  if (name === '7bit' || name === 'quoted-printable' || name === 'base64') return name
  throw new TypeError(`unknown transfer encoding ${name}`)
}
