// The header of a part of a form (RFC 7578 §4.2): the name of its field, and of its file if it is one.

export type PartHead = {
  readonly name: string
  /** Null where the part is a text. */
  readonly filename: string | null
  readonly contentType: string | null
  /** Lower case; null where none is named. */
  readonly charset: string | null
}

/**
 * `header` has lower-case names with the values of each, every character an octet. A text tells what
 * is wrong, to follow "the part": no name, a parameter twice, text that is not UTF-8, an encoding.
 */
export function readPartHead(header: ReadonlyMap<string, readonly string[]>): PartHead | string {
  for (const [name, label] of singleFields) {
    if ((header.get(name)?.length ?? 0) > 1) return `has ${label} twice`
  }
  const disposition = header.get('content-disposition')?.[0]
  const type = header.get('content-type')?.[0]
  const encoding = header.get('content-transfer-encoding')?.[0]
  if (disposition === undefined) return 'has no Content-Disposition'
  // RFC 7578 §4.7: deprecated, and what says nothing does no harm.
  if (encoding !== undefined && !/^(?:7bit|8bit|binary)$/i.test(encoding)) {
    return `is encoded (${shown(encoding)}); send its bytes unencoded`
  }
  const parameters = /^form-data\s*(;.*)?$/is.exec(disposition)
  if (parameters === null) return 'has a Content-Disposition other than form-data'
  const named = readParameters(parameters[1] ?? '')
  if (typeof named === 'string') return named
  const name = named.get('name')
  if (name === undefined) return 'has no field name in its Content-Disposition'
  const contentType = type === undefined ? null : utf8(type)
  return {
    name,
    filename: named.get('filename*') ?? named.get('filename') ?? null,
    contentType,
    charset: /;\s*charset="?([^\s;"]*)/i.exec(contentType ?? '')?.[1]?.toLowerCase() ?? null,
  }
}

const singleFields = [
  ['content-disposition', 'Content-Disposition'],
  ['content-type', 'Content-Type'],
  ['content-transfer-encoding', 'Content-Transfer-Encoding'],
] as const

const SHOWN_LENGTH = 40

function shown(text: string): string {
  return text.slice(0, SHOWN_LENGTH).replace(/[^\x20-\x7e]/g, '?')
}

const PARAMETER = /\s*;\s*([\w-]+\*?)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/y

function readParameters(text: string): Map<string, string> | string {
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = 0
  let end = 0
  for (let found = PARAMETER.exec(text); found !== null; found = PARAMETER.exec(text)) {
    end = PARAMETER.lastIndex
    const [, key = '', quoted, plain = ''] = found
    const name = key.toLowerCase()
    const value = name.endsWith('*') ? readExtended(plain) : utf8(unescaped(quoted ?? plain))
    if (value === null) return `has a ${shown(name)} that is not in UTF-8`
    if (parameters.has(name)) return `has a ${shown(name)} twice in its Content-Disposition`
    parameters.set(name, value)
  }
  return /^\s*;?\s*$/.test(text.slice(end)) ? parameters : 'has a malformed Content-Disposition'
}

/**
 * Browsers write a quotation mark as %22, curl with a backslash; both leave other backslashes. The
 * line ends of a name, which browsers write as %0D and %0A, are dropped.
 */
function unescaped(quoted: string): string {
  return quoted
    .replace(/\\(["\\])/g, '$1')
    .replaceAll('%22', '"')
    .replace(/%0[da]/gi, '')
}

/** RFC 8187 §3.2, which some clients use although RFC 7578 tells them not to. */
function readExtended(text: string): string | null {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(text)?.[1]
  if (encoded === undefined) return null
  try {
    return decodeURIComponent(encoded)
  } catch {
    return null
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8(octets: string): string | null {
  try {
    return decoder.decode(Buffer.from(octets, 'latin1'))
  } catch {
    return null
  }
}
