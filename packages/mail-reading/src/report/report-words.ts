import { ADDRESS_TEXT_LENGTH_MAX, parseAddressList } from '@mailroom/mail/address-list.ts'
import { firstField, type HeaderField } from '@mailroom/mail/header-fields.ts'
import { isMailSystemName } from '@mailroom/mail/kind-senders.ts'

/**
 * Whether the sender is a mail system, by its mailbox or by exactly one of the usual names. A
 * Return-Path field is no evidence, because any sender may write it.
 */
export function isFromMailSystem(fields: readonly HeaderField[]): boolean {
  const field = firstField(fields, 'from') ?? ''
  const [box] = parseAddressList(field)
  if (box === undefined) {
    // The name before the brackets, as in `From: MAILER-DAEMON <>`.
    const name = (field.split('<', 1)[0] ?? '').replaceAll('"', '').trim()
    return (name === '' && field.includes('<')) || isSystemName(name)
  }
  const at = box.address.lastIndexOf('@')
  const localPart = at < 0 ? box.address : box.address.slice(0, at)
  return SYSTEM_MAILBOX.test(localPart) || isSystemName(box.name)
}

const SYSTEM_MAILBOX =
  /^(?:mailer[-_.]?daemon|post[-_]?master|mail[-_.]?delivery[-_.]?(?:sub)?system|mdaemon)$/i

function isSystemName(name: string): boolean {
  return (
    isMailSystemName(name) || /^(?:postmaster|(?:mail )?(?:system )?administrator)$/i.test(name)
  )
}

/** Whether a program replied automatically (RFC 3834 §5). */
export function isAutomaticAnswer(fields: readonly HeaderField[]): boolean {
  return fields.some(
    ({ name, value }) => name === 'auto-submitted' && /^auto-replied\b/i.test(value),
  )
}

/** Whether the decoded subject is one that mail systems write for a failure. */
export function isNoticeSubject(subject: string): boolean {
  return NOTICE_SUBJECTS.some((words) => words.test(subject))
}

const NOTICE_SUBJECTS = [
  /\b(?:un|non[- ]?)deliver/i,
  /\bdeliver\w*\b.{0,30}\b(?:fail|status|notif|report|error|problem|delay|impossible|unsuccess|denied|rejected|warning)/i,
  /\b(?:fail|delay|error|unable|problem|could not|couldn't|cannot|can't|not|warning)\w*\b.{0,30}\bdeliver/i,
  /\bfail(?:ed|ure)\b.{0,10}\b(?:notice|mail|notification)/i,
  /\bmail(?:er)?[- ](?:system )?(?:error|failure)/i,
  /\breturn(?:ed|ing)\b.{0,20}\b(?:mail|message|to sender)/i,
  /\b(?:message|mail)\b.{0,30}\b(?:returned|rejected|blocked|bounced|not sent|refused)\b/i,
  /\bbounced?\b/i,
  /\bcould not send (?:message|mail)/i,
  /unzustellbar|nicht zugestellt|zustellung|non remis|non distribu|[ée]chec|onbestelbaar|no se (?:ha )?pud|no entregad|devolvid|mancato recapito|mancata consegna|n[aã]o entregue|не\s?доставлен|недоставлен|не удалось доставить|配信|送信できません|エラーメール|不達|退信|投递失败|无法送达/i,
]

/** Whether the text is an out-of-office notice, which reports no failure. */
export function isAbsence(fields: readonly HeaderField[], subject: string): boolean {
  if (ABSENT.test(subject)) return true
  return fields.some(
    ({ name, value }) =>
      (name === 'auto-submitted' && /vacation/i.test(value)) ||
      (name === 'x-autoreply' && !/^no/i.test(value)) ||
      name === 'x-ms-exchange-inbox-rules-loop',
  )
}

const ABSENT =
  /^\s*(?:re:\s*)?(?:auto(?:matic|matische)?[-_ :]*(?:re(?:ply|sponse|spond\w*)|antwort)|out[- ]of[- ](?:the[- ])?office|away from|vacation|abwesen|absence|r[ée]ponse automatique|respuesta autom|risposta autom|afwezig|autosvar|自动回复|自動)/i

/** Whether the line contains a mail system's phrase for a message that did not arrive. */
export function isFailurePhrase(line: string): boolean {
  return FAILURE_PHRASES.some((words) => words.test(line))
}

const FAILURE_PHRASES = [
  /\b(?:could|can|was|were|be|been|has|have|is|did|will)\s?(?:not|n't|never)\b.{0,30}\b(?:deliver|reach|relay|sent|send|received?\b|forwarded|transmit|accepted)/i,
  /\b(?:unable|failed|failure|impossible|wasn't able|not able|error|problem|trouble)\b.{0,40}\b(?:deliver|send|relay|transmi)/i,
  /\bdeliver\w*\b.{0,40}\b(?:fail|has been delayed|is delayed|error|problem|unsuccessful|aborted|suspended|attempt)/i,
  /\bundeliver(?:able|ed)\b/i,
  /\b(?:had|following|with|these) (?:\w+ ){0,4}(?:fatal|delivery|permanent|transient) (?:\w+ )?(?:errors?|failures?|problems?)/i,
  /\btranscript of (?:the )?session\b/i,
  /\b(?:user|recipient|mailbox|address) (?:unknown|not found|is full|does not exist)|\b(?:unknown|invalid|no such) (?:\w+ )?(?:user|recipient|mailbox|address)/i,
  /\b(?:was|were|been) (?:rejected|refused|returned|blocked|bounced)\b/i,
  /\bnot listed in\b.{0,40}\b(?:directory|address book)/i,
  /\b(?:mailbox|mail ?folder)\b.{0,40}\b(?:full|exceed)/i,
  /\bremote host said\b|\bsmtp error\b|\bgiving up\b|\bfailure reasons\b|\bmessage will be retried\b/i,
  /не (?:может быть |удалось )?(?:быть )?(?:доставлен|отправлен)|nicht zugestellt|konnte nicht|送信できません|失敗|配信でき|送信されませんでした|無法|无法/i,
]

export function saysDelayed(text: string): boolean {
  return LATE.test(text) && !GIVEN_UP.test(text)
}

const LATE =
  /\b(?:(?:has|have) been delayed|is delayed|delivery (?:has been )?delayed|delivery delay|still undelivered|not yet (?:been )?(?:deliver|receiv)|warning: (?:could not|message)|will (?:be retried|keep trying|continue (?:to )?try|continue for)|no action is required|kept in the queue|delivery incomplete|temporary failure report)/i

const GIVEN_UP =
  /\b(?:giving up|given up|gave up|will not (?:be )?(?:retr|try)|not going to try|too long|has failed|failed permanently|permanent (?:error|failure)|fatal errors)\b/i

type FoundAddress = {
  readonly address: string
  /** Offsets of the address within the line, without brackets. */
  readonly start: number
  readonly end: number
}

const NOT_LOCAL = /[\s<>()[\]{}:;,"'`@\\|]/
const NOT_DOMAIN = /[^\p{L}\p{N}.\-_]/u

/**
 * The addresses of a line in order. An address without a dot in its domain must be in angle
 * brackets. Scans outwards from every `@`, so that the time is linear.
 */
export function findAddresses(line: string): FoundAddress[] {
  const found: FoundAddress[] = []
  let floor = 0
  for (let at = line.indexOf('@'); at >= 0; at = line.indexOf('@', at + 1)) {
    const address = addressAround(line, at, floor)
    if (address === null) continue
    found.push(address)
    floor = address.end
    at = Math.max(at, address.end - 1)
  }
  return found
}

/** The bare first address of a text with an address: `<a@b>`, `rfc822; a@b`, `a@b (Name)`. */
export function firstAddress(text: string): string | null {
  const whole = text.trim()
  const bracketed = /^[^<>]*<([^<>]*)>/.exec(whole)?.[1]?.trim()
  const candidate = bracketed ?? whole
  if (candidate.length > ADDRESS_TEXT_LENGTH_MAX) return null
  const found = findAddresses(candidate)[0]?.address
  if (found !== undefined) return found
  return /^[^\s@]+@[^\s@]+$/.test(candidate) ? candidate : null
}

function addressAround(line: string, at: number, floor: number): FoundAddress | null {
  const start = localStart(line, at, floor)
  let end = at + 1
  while (end < line.length && !NOT_DOMAIN.test(line[end] ?? '')) end += 1
  while (end > at + 1 && /[.\-_]/.test(line[end - 1] ?? '')) end -= 1
  const isBracketed = line[start - 1] === '<' && line[end] === '>'
  if (start === at || end === at + 1 || end - start > ADDRESS_TEXT_LENGTH_MAX) return null
  if (!isBracketed && !line.slice(at, end).includes('.')) return null
  return { address: line.slice(start, end), start, end }
}

function localStart(line: string, at: number, floor: number): number {
  if (line[at - 1] === '"') {
    const open = line.lastIndexOf('"', at - 2)
    // Only a quoted local part has this form, because `"a"@b` within other quotes does not occur.
    if (open >= floor && at - open < ADDRESS_TEXT_LENGTH_MAX) return open
  }
  let start = at
  while (start > floor && !NOT_LOCAL.test(line[start - 1] ?? '')) start -= 1
  while (start < at && /[.*=/-]/.test(line[start] ?? '') && line[start + 1] !== '?') start += 1
  return start
}

export type FoundCodes = { readonly enhancedCode: string | null; readonly replyCode: number | null }

const REPLY = /(?:^|[\s:;>'"([#=,|-])([245][0-5]\d)(?=[\s:;,)\]>'"-]|$)/g
const ENHANCED = /(?<![\w.])([245]\.\d{1,3}\.\d{1,3})(?![\w]|\.\d)/g
/** Words around an amount, a port or a year, which is not a reply code. */
const NOT_REPLY_BEFORE = /\b(?:port|id|size|limit|line|after|code page|attempts?)[:= ]*$/i
const NOT_REPLY_AFTER =
  /^\s*(?:k?bytes?|octets|[km]b\b|seconds?|minutes?|hours?|days?|messages?|recipients|times|lines|characters)/i

/**
 * The first failure code of each kind. An enhanced code that matches the reply code is preferred.
 */
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

/** Whether the code means no more than its class (RFC 3463 §3.1), or is used that way. */
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
