// SMTP replies (RFC 5321 §4.2) with enhanced status codes (RFC 3463) as values and as octets.

export type Reply = {
  /** Three digits, 200 to 599. */
  readonly code: number
  /** `class.subject.detail`, or '' where RFC 2034 wants none (greeting, EHLO, DATA's 354). */
  readonly enhanced: string
  /** One line or several, without line ends. */
  readonly text: string | readonly string[]
}

/** A reply as a value; see `Reply` for what the parts must be. */
export function reply(code: number, enhanced: string, text: string | readonly string[]): Reply {
  return { code, enhanced, text }
}

/**
 * The octets of a reply as text, each line ended by CRLF. The enhanced code stands on every line
 * (RFC 2034 §4). Control characters in the text become '?', so that nothing remote can add a line.
 */
export function formatReply(reply: Reply): string {
  const enhanced = reply.enhanced === '' ? '' : `${reply.enhanced} `
  const { code, text } = reply
  if (typeof text === 'string') return `${code} ${enhanced}${clean(text)}\r\n`
  return text
    .map((line, index) => {
      const mark = index === text.length - 1 ? ' ' : '-'
      return `${code}${mark}${enhanced}${clean(line)}\r\n`
    })
    .join('')
}

function clean(line: string): string {
  return /[^\x20-\x7e]/.test(line) ? line.replace(/[^\x20-\x7e]/g, '?') : line
}
