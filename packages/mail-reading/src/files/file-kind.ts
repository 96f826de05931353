// Determines the kind of a file by its first octets, or else by its name and declared type.

export type FileKind =
  | 'pdf'
  | 'zip'
  | 'old-office'
  | 'rtf'
  | 'image'
  | 'html'
  | 'csv'
  | 'mail'
  | 'text'
  | 'other'

export type NamedFile = {
  readonly content: Uint8Array
  readonly filename: string
  readonly contentType: string
  /** The charset that the message declares; absent if undeclared. */
  readonly charset?: string | undefined
}

const MAGIC: readonly (readonly [FileKind, string])[] = [
  ['zip', 'PK\x03\x04'],
  ['zip', 'PK\x05\x06'],
  ['old-office', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
  ['rtf', '{\\rtf'],
  ['image', '\x89PNG'],
  ['image', '\xff\xd8\xff'],
  ['image', 'GIF8'],
  ['image', 'II*\0'],
  ['image', 'MM\0*'],
  ['image', 'BM'],
]

const EXTENSIONS: ReadonlyMap<string, FileKind> = kindsOf({
  pdf: 'pdf',
  docx: 'zip',
  docm: 'zip',
  xlsx: 'zip',
  xlsm: 'zip',
  pptx: 'zip',
  pptm: 'zip',
  odt: 'zip',
  ods: 'zip',
  odp: 'zip',
  rtf: 'rtf',
  htm: 'html',
  html: 'html',
  xhtml: 'html',
  csv: 'csv',
  tsv: 'csv',
  eml: 'mail',
  ...Object.fromEntries(
    'txt text md markdown log json xml yaml yml ini conf toml ics vcf sql diff patch'
      .split(' ')
      .map((extension) => [extension, 'text' as const]),
  ),
})

const TYPES: ReadonlyMap<string, FileKind> = kindsOf({
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'zip',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'zip',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'zip',
  'application/vnd.oasis.opendocument.text': 'zip',
  'application/vnd.oasis.opendocument.spreadsheet': 'zip',
  'application/vnd.oasis.opendocument.presentation': 'zip',
  'application/rtf': 'rtf',
  'text/rtf': 'rtf',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'message/rfc822': 'mail',
  'message/global': 'mail',
  'application/json': 'text',
  'application/xml': 'text',
})

function kindsOf(kinds: Readonly<Record<string, FileKind>>): ReadonlyMap<string, FileKind> {
  return new Map(Object.entries(kinds))
}

/**
 * The PDF signature must occur within this many octets; some programs write something before it.
 */
const PDF_SIGN_BYTES_MAX = 1_024
const SNIFFED_BYTES = 8 * 1_024

/** Files of the kind `other` are not read. */
export function kindOfFile(file: NamedFile): FileKind {
  const { content } = file
  const head = Buffer.from(content.subarray(0, SNIFFED_BYTES)).toString('latin1')
  const magic = MAGIC.find(([, sign]) => head.startsWith(sign))
  const declared = declaredKind(file)
  if (magic !== undefined && !(magic[1] === 'BM' && declared !== 'other')) return magic[0]
  const isTextual = ['html', 'csv', 'mail', 'text'].includes(declared)
  // Ordinary text may mention the signature.
  const sign = head.slice(0, PDF_SIGN_BYTES_MAX).indexOf('%PDF-')
  if (sign === 0 || (sign > 0 && !isTextual)) return 'pdf'
  if (/^RIFF....WEBP/s.test(head)) return 'image'
  const isText = !head.includes('\0') || /^(?:\xff\xfe|\xfe\xff)/.test(head)
  if (isTextual) return isText ? declared : 'other'
  return declared
}

export function declaredKind({ filename, contentType }: Omit<NamedFile, 'content'>): FileKind {
  const type = contentType.toLowerCase()
  const extension = /\.([a-z0-9]{1,8})$/i.exec(filename)?.[1]?.toLowerCase() ?? ''
  const byName = EXTENSIONS.get(extension)
  const byType = TYPES.get(type)
  // Tables are often declared as text, and any file may be declared as application/octet-stream.
  if (byName !== undefined) return byName
  if (byType !== undefined) return byType
  if (type.startsWith('image/') && type !== 'image/svg+xml') return 'image'
  return type.startsWith('text/') ? 'text' : 'other'
}
