// What a server's reply to EHLO offers (RFC 5321 §4.1.1.1), as far as a client of ours makes use of it.

export type Extensions = {
  readonly pipelining: boolean
  readonly eightBitMime: boolean
  readonly smtpUtf8: boolean
  readonly starttls: boolean
  /** Largest message in octets (RFC 1870); null when none is stated. */
  readonly size: number | null
  readonly isSizeOffered: boolean
  readonly enhancedStatusCodes: boolean
  /** Mechanisms in upper case, each once. */
  readonly auth: readonly string[]
}

/** What a server that knows HELO only offers. */
export const NO_EXTENSIONS: Extensions = {
  pipelining: false,
  eightBitMime: false,
  smtpUtf8: false,
  starttls: false,
  size: null,
  isSizeOffered: false,
  enhancedStatusCodes: false,
  auth: [],
}

/** `lines` is the text of the whole reply; its first line is the server's name. */
export function parseExtensions(lines: readonly string[]): Extensions {
  const parameters = new Map<string, string[]>()
  for (const line of lines.slice(1)) {
    // Old servers write AUTH=LOGIN, beside the line with a space or without one.
    const words = line
      .trim()
      .toUpperCase()
      .replace(/^AUTH=/, 'AUTH ')
      .split(/ +/)
    const [keyword = '', ...rest] = words
    parameters.set(keyword, [...(parameters.get(keyword) ?? []), ...rest])
  }
  return {
    pipelining: parameters.has('PIPELINING'),
    eightBitMime: parameters.has('8BITMIME'),
    smtpUtf8: parameters.has('SMTPUTF8'),
    starttls: parameters.has('STARTTLS'),
    size: parseSize(parameters.get('SIZE')?.[0]),
    isSizeOffered: parameters.has('SIZE'),
    enhancedStatusCodes: parameters.has('ENHANCEDSTATUSCODES'),
    auth: [...new Set(parameters.get('AUTH'))],
  }
}

/** Zero says that no limit is in force (RFC 1870 §3). */
function parseSize(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,20}$/.test(text)) return null
  return Number(text) || null
}
