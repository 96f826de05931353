// SMTP replies (RFC 5321 §4.2) with enhanced status codes (RFC 3463) as values and as octets.

export type Reply = {
  /** Three digits, 200 to 599. */
  readonly code: number
  /** `class.subject.detail`, or '' where RFC 2034 wants none (greeting, EHLO, DATA's 354). */
  readonly enhanced: string
  /** One line or several, without line ends. */
  readonly text: string | readonly string[]
}

export function reply(code: number, enhanced: string, text: string | readonly string[]): Reply {
  return { code, enhanced, text }
}

/**
 * The octets of a reply as text, each line ended by CRLF. The enhanced code stands on every line
 * (RFC 2034 §4). Control characters in the text become '?', so that nothing remote can add a line.
 */
export function formatReply(reply: Reply): string {
  const lines = typeof reply.text === 'string' ? [reply.text] : reply.text
  const enhanced = reply.enhanced === '' ? '' : `${reply.enhanced} `
  return lines
    .map((line, index) => {
      const mark = index === lines.length - 1 ? ' ' : '-'
      return `${reply.code}${mark}${enhanced}${line.replace(/[^\x20-\x7e]/g, '?')}\r\n`
    })
    .join('')
}
