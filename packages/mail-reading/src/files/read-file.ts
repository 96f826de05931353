// Extracts the text of an attached file. Its octets are hostile, so this runs in a separate
// process, which is killed if it takes too much time or memory.

import { cleanText, decodeText } from '@mailroom/mail/charset.ts'
import { openMime } from '@mailroom/mail/mime/mime-message.ts'
import { visibleTextOf } from '#html/visible-text.ts'
import { RemovalTally, stripInvisible } from '#view/removal.ts'
import { viewBody } from '#view/view-body.ts'
import { type FileKind, kindOfFile, type NamedFile } from './file-kind.ts'
import {
  FILE_BYTES_MAX,
  FileFault,
  type FileMethod,
  type FileText,
  TextWriter,
  tooLarge,
  UNKNOWN_KIND,
  unreadText,
  untilFull,
} from './file-text.ts'
import { mainPartOf } from './package-parts.ts'
import { readCsv } from './read-csv.ts'
import { readDocx } from './read-docx.ts'
import { readOdf } from './read-odf.ts'
import { readPdf } from './read-pdf.ts'
import { readPptx } from './read-pptx.ts'
import { readRtf } from './read-rtf.ts'
import { readXlsx } from './read-xlsx.ts'
import { encrypted, ZipFile } from './zip-file.ts'

/** Never rejects. Hostile octets may take unbounded time and memory. Consumes `content`. */
export async function readFile(file: NamedFile): Promise<FileText> {
  if (file.content.length > FILE_BYTES_MAX) return tooLarge()
  const writer = new TextWriter()
  try {
    const read = await readKind(kindOfFile(file), file, writer)
    const text = stripInvisible(cleanText(writer.text()), new RemovalTally())
    const isTruncated = writer.isCut || read.isCut === true
    if (read.method === 'pdf' && text.trim() === '') {
      return unreadText('unsupported', 'Its pages have no text: they are pictures, or empty.')
    }
    return { method: read.method, text, pages: read.pages ?? null, isTruncated, why: null }
  } catch (error) {
    if (error instanceof FileFault) return unreadText(error.method, error.message)
    return unreadText('failed', 'It is damaged or incomplete.')
  }
}

type Read = { method: FileMethod; pages?: number; isCut?: boolean }

async function readKind(kind: FileKind, file: NamedFile, writer: TextWriter): Promise<Read> {
  const { content, charset } = file
  switch (kind) {
    case 'pdf':
      return { method: 'pdf', pages: await readPdf(content, writer) }
    case 'zip':
      return readPackage(content, writer)
    case 'old-office':
      // An encrypted package uses the container of the old formats (MS-OFFCRYPTO §2.3.4).
      if (Buffer.from(content).includes(Buffer.from('EncryptedPackage', 'utf16le')))
        throw encrypted()
      throw unsupported()
    case 'rtf':
      await untilFull(() => readRtf(Buffer.from(content).toString('latin1'), writer))
      return { method: 'office' }
    case 'html':
      return {
        method: 'html',
        isCut: await addVisible({ text: '', html: textOf(content, charset, true) }, writer),
      }
    case 'csv':
      await untilFull(() => readCsv(textOf(content, charset), writer))
      return { method: 'csv' }
    case 'mail':
      return { method: 'text', isCut: await readMail(content, writer) }
    case 'text':
      await untilFull(() => writer.add(textOf(content, charset).trim()))
      return { method: 'text' }
    case 'image':
    case 'other':
      throw unsupported()
  }
}

function unsupported(): FileFault {
  return new FileFault('unsupported', UNKNOWN_KIND)
}

async function readPackage(content: Uint8Array, writer: TextWriter): Promise<Read> {
  const zip = new ZipFile(content)
  let pages = 0
  if (zip.has('mimetype') && zip.has('content.xml')) {
    await untilFull(() => {
      pages = readOdf(zip, writer)
    })
    return { method: 'office', ...(pages > 0 && { pages }) }
  }
  if (zip.has('EncryptedPackage')) throw encrypted()
  const main = mainPartOf(zip)
  if (main === null) throw unsupported()
  const [folder] = main.split('/')
  await untilFull(() => {
    if (folder === 'word') readDocx(zip, main, writer)
    else if (folder === 'xl') readXlsx(zip, main, writer)
    else if (folder === 'ppt') pages = readPptx(zip, main, writer)
    else throw unsupported()
  })
  return { method: 'office', ...(pages > 0 && { pages }) }
}

/** Adds the visible text of HTML, as in the view of a message. Returns whether there is more. */
async function addVisible(
  source: { text: string; html: string },
  writer: TextWriter,
): Promise<boolean> {
  const body = await viewBody({ ...source, hasFullLinks: true, isUnfolded: true })
  if (body.source === 'unread-html' && source.text === '') {
    throw new FileFault('failed', 'Its HTML is too large or deep to be read.')
  }
  await untilFull(() => writer.add(body.text))
  return body.isCut
}

const MAIL_ADDRESSES_MAX = 20
const MAIL_FILES_MAX = 100

/** Adds the text of a message and the names of its files, which are not read. */
async function readMail(content: Uint8Array, writer: TextWriter): Promise<boolean> {
  const { message } = openMime(content, visibleTextOf)
  const { from, to, cc, subject, date } = message.headers
  const line = (name: string, value: string) =>
    value === '' ? [] : [`${name}: ${value.replace(/\s+/g, ' ').trim()}`]
  const mailboxes = (all: readonly { name: string; address: string }[]) =>
    all
      .slice(0, MAIL_ADDRESSES_MAX)
      .map(({ name, address }) => (name === '' ? address : `${name} <${address}>`))
      .join(', ')
  const fields = [
    ...line('From', from === null ? '' : mailboxes([from])),
    ...line('To', mailboxes(to)),
    ...line('Cc', mailboxes(cc)),
    ...line('Date', date === null ? '' : new Date(date).toISOString()),
    ...line('Subject', subject),
  ]
  writer.add(fields.join('\n'))
  const isCut = await addVisible(message, writer)
  const files = message.attachments.slice(0, MAIL_FILES_MAX).map(({ filename }) => `- ${filename}`)
  if (files.length > 0) await untilFull(() => writer.add(['Attachments:', ...files].join('\n')))
  return isCut
}

function textOf(content: Uint8Array, charset = '', isHtml = false): string {
  return decodeText(content, charset, { isHtml }).replace(/^\ufeff/, '')
}
