import { cleanText } from './charset.ts'

/** Maximum length of a file name in characters; most file systems stop at 255 bytes. */
export const FILENAME_LENGTH_MAX = 200

type NamedPart = { readonly filename: string | null; readonly contentType: string }

/** Extensions for parts without a usable name. Parts of other types have no extension. */
const EXTENSIONS = new Map([
  ['application/gzip', '.gz'],
  ['application/json', '.json'],
  ['application/msword', '.doc'],
  ['application/pdf', '.pdf'],
  ['application/pgp-signature', '.asc'],
  ['application/pkcs7-signature', '.p7s'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', '.xlsx'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', '.docx'],
  ['application/x-pkcs7-signature', '.p7s'],
  ['application/xml', '.xml'],
  ['application/zip', '.zip'],
  ['audio/mpeg', '.mp3'],
  ['audio/wav', '.wav'],
  ['image/bmp', '.bmp'],
  ['image/gif', '.gif'],
  ['image/jpeg', '.jpg'],
  ['image/png', '.png'],
  ['image/svg+xml', '.svg'],
  ['image/tiff', '.tiff'],
  ['image/webp', '.webp'],
  ['message/delivery-status', '.txt'],
  ['message/partial', '.eml'],
  ['message/rfc822', '.eml'],
  ['text/calendar', '.ics'],
  ['text/csv', '.csv'],
  ['text/html', '.html'],
  ['text/plain', '.txt'],
  ['text/rfc822-headers', '.txt'],
  ['text/vcard', '.vcf'],
  ['text/xml', '.xml'],
  ['video/mp4', '.mp4'],
])
const EXTENSION_LENGTH_MAX = 20
/** Names that Windows treats as devices, with any extension. */
const DEVICE_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

/**
 * Makes one name per part, in order: the last component of a path, without control, bidirectional
 * and invisible characters, at most FILENAME_LENGTH_MAX code points, including its extension. An
 * empty name becomes `attachment` with the type's usual extension. A repeated name (ignoring case)
 * is numbered: `a.pdf`, `a (2).pdf`.
 */
export function safeFileNames(parts: readonly NamedPart[]): string[] {
  const taken = new Set<string>()
  const counters = new Map<string, number>()
  return parts.map((part) => {
    const name = safeName(part)
    let unique = name
    let number = counters.get(foldCase(name)) ?? 1
    while (taken.has(foldCase(unique))) {
      number += 1
      unique = withNumber(name, number)
    }
    counters.set(foldCase(name), number)
    taken.add(foldCase(unique))
    return unique
  })
}

function safeName({ filename, contentType }: NamedPart): string {
  const component = (filename ?? '').split(/[/\\]/).at(-1) ?? ''
  const printable = cleanText(component)
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
  const name = /^\.*$/.test(printable) ? fallbackName(contentType) : printable
  return shorten(DEVICE_NAME.test(name) ? `_${name}` : name, '')
}

function fallbackName(contentType: string): string {
  return `attachment${EXTENSIONS.get(contentType) ?? ''}`
}

function withNumber(name: string, number: number): string {
  return shorten(name, ` (${number})`)
}

/** Shortens the stem, never the extension or the number, and never within a character. */
function shorten(name: string, suffix: string): string {
  const dot = name.lastIndexOf('.')
  const hasExtension = dot > 0 && name.length - dot <= EXTENSION_LENGTH_MAX
  const stem = [...(hasExtension ? name.slice(0, dot) : name)]
  const extension = hasExtension ? name.slice(dot) : ''
  const room = FILENAME_LENGTH_MAX - suffix.length - [...extension].length
  return `${stem.slice(0, room).join('')}${suffix}${extension}`
}

function foldCase(name: string): string {
  return name.toLowerCase()
}
