// SMTP reply codes and enhanced codes (RFC 3463) within the words of servers. Refuses to take parts of
// addresses, dates and versions for codes.

export type FoundCodes = { readonly enhancedCode: string | null; readonly replyCode: number | null }

const REPLY = /(?:^|[\s:;>'"([#=,|-])([245][0-5]\d)(?=[\s:;,)\]>'"-]|$)/g
const ENHANCED = /(?<![\w.])([245]\.\d{1,3}\.\d{1,3})(?![\w]|\.\d)/g
/** Rather the amount of something, a port or a year than a reply. */
const NOT_REPLY_BEFORE = /\b(?:port|id|size|limit|line|after|code page|attempts?)[:= ]*$/i
const NOT_REPLY_AFTER =
  /^\s*(?:k?bytes?|octets|[km]b\b|seconds?|minutes?|hours?|days?|messages?|recipients|times|lines|characters)/i

/** The first of each that is none of a success; an enhanced code beside its reply code is preferred. */
export function findCodes(text: string): FoundCodes {
  const replyCode = findReply(text)
  const codes = [...text.matchAll(ENHANCED)].map(([, code = '']) => code)
  const failures = codes.filter((code) => !code.startsWith('2') && isPlausible(code))
  const sameClass = failures.filter(
    (code) => replyCode === null || code[0] === String(replyCode)[0],
  )
  const enhancedCode =
    sameClass.find((code) => !isVague(code)) ?? sameClass[0] ?? failures[0] ?? null
  return { enhancedCode, replyCode }
}

/** Codes that say no more than their class: RFC 3463 §3.1 and what servers put in its place. */
export function isVague(code: string): boolean {
  return /^\d\.(?:0\.0|[13567]\.0)$/.test(code)
}

function isPlausible(code: string): boolean {
  const [, subject = '', detail = ''] = code.split('.')
  return Number(subject) <= 7 && Number(detail) < 1000
}

function findReply(text: string): number | null {
  for (const match of text.matchAll(REPLY)) {
    const digits = match[1] ?? ''
    const start = match.index + match[0].length - digits.length
    if (digits.startsWith('2') || digits[1] === '4') continue
    if (NOT_REPLY_BEFORE.test(text.slice(Math.max(0, start - 16), start))) continue
    if (NOT_REPLY_AFTER.test(text.slice(start + 3, start + 20))) continue
    return Number(digits)
  }
  return null
}
