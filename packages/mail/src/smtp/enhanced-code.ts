// The enhanced status code at the start of a reply's text (RFC 2034 §4, RFC 3463 §2).

import type { PeerReply } from './reply-decoder.ts'

const ENHANCED = /^([245])\.\d{1,3}\.\d{1,3}(?=\s|$)/

/**
 * The code of a reply's first line and its text without it, lines joined by LF. The code is null
 * where there is none or where its class contradicts the reply's first digit; the text is then whole.
 */
export function splitEnhancedCode(reply: PeerReply): { enhanced: string | null; text: string } {
  const [first = ''] = reply.lines
  const enhanced = ENHANCED.exec(first)?.[0] ?? null
  if (enhanced === null || Number(enhanced[0]) !== Math.floor(reply.code / 100)) {
    return { enhanced: null, text: reply.lines.length === 1 ? first : reply.lines.join('\n') }
  }
  if (reply.lines.length === 1) return { enhanced, text: first.slice(enhanced.length).trimStart() }
  const lines = reply.lines.map((line) =>
    ENHANCED.exec(line)?.[0] === enhanced ? line.slice(enhanced.length).trimStart() : line,
  )
  return { enhanced, text: lines.join('\n') }
}
