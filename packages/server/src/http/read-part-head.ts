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
 * `header` has lower-case names with the values of each, every character an octet. Null for anything
 * but the header of a field: no name, a parameter twice, text that is not UTF-8, an encoded part.
 */
export function readPartHead(header: object): PartHead | null {
  const disposition = only(header, 'content-disposition')
  const type = only(header, 'content-type')
  const encoding = only(header, 'content-transfer-encoding')
  if (disposition === null || type === 'several' || encoding === 'several') return null
  // RFC 7578 §4.7: deprecated, and what says nothing does no harm.
  if (encoding !== null && !/^(?:7bit|8bit|binary)$/i.test(encoding)) return null
  const parameters = /^form-data\s*(;.*)$/is.exec(disposition)?.[1]
  const named = parameters === undefined ? null : readParameters(parameters)
  const name = named?.get('name')
  if (!named || name === undefined) return null
  const contentType = type === null ? null : utf8(type)
  return {
    name,
    filename: named.get('filename*') ?? named.get('filename') ?? null,
    contentType,
    charset: /;\s*charset="?([^\s;"]*)/i.exec(contentType ?? '')?.[1]?.toLowerCase() ?? null,
  }
}

function only(header: object, name: string): string | 'several' | null {
  const values: unknown = Reflect.get(header, name)
  if (!Array.isArray(values)) return null
  return values.length === 1 ? String(values[0]).trim() : 'several'
}

const PARAMETER = /\s*;\s*([\w-]+\*?)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/y

function readParameters(text: string): Map<string, string> | null {
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = 0
  let end = 0
  for (let found = PARAMETER.exec(text); found !== null; found = PARAMETER.exec(text)) {
    end = PARAMETER.lastIndex
    const [, key = '', quoted, plain = ''] = found
    const name = key.toLowerCase()
    const value = name.endsWith('*') ? readExtended(plain) : utf8(unescaped(quoted ?? plain))
    if (value === null || parameters.has(name)) return null
    parameters.set(name, value)
  }
  return /^\s*;?\s*$/.test(text.slice(end)) ? parameters : null
}

/** Browsers write a quotation mark as %22, curl with a backslash; both leave other backslashes. */
function unescaped(quoted: string): string {
  return quoted.replace(/\\(["\\])/g, '$1').replaceAll('%22', '"')
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
