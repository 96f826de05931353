import { ADDRESS_TEXT_LENGTH_MAX } from '@mailroom/mail/address-list.ts'
import { cleanLine } from '@mailroom/mail/charset.ts'
import { type BounceClass, classifyBounce, stageOf } from './bounce-class.ts'
import { findCodes, firstAddress, isVague } from './report-words.ts'

/** Actions of RFC 3464 §2.3.3. */
type ReportedAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

export type ReportedRecipient = {
  /** The bare address in the report; null if it names none. */
  readonly recipient: string | null
  /** The bare address as the sender wrote it (RFC 3461 ORCPT); null if absent. */
  readonly originalRecipient: string | null
  readonly action: ReportedAction
  /**
   * The enhanced code (RFC 3463). If the report has only a reply code or a plain failure, the
   * undefined code of its class (X.0.0, RFC 3464 §2.3.4). Null if the class is unknown.
   */
  readonly enhancedCode: string | null
  readonly replyCode: number | null
  /** The remote server's words on one line, at most RESPONSE_LENGTH_MAX characters. */
  readonly diagnostic: string
  /** The class of the bounce, for the action `failed` only. */
  readonly bounceClass: BounceClass
}

/** The envelope of a report, which can be trusted, unlike its header fields. */
export type ReportEnvelope = {
  /** Whether the report had the null reverse-path, as required (RFC 5321 §4.5.5). */
  readonly hasNullSender: boolean
}

export type Report =
  | {
      readonly kind: 'bounce'
      /** At least one and at most REPORT_RECIPIENTS_MAX recipients. */
      readonly recipients: ReportedRecipient[]
      /** The Message-ID of the original message as `<id>`; null if the message is not returned. */
      readonly originalMessageId: string | null
      /** Whether the report has RFC 3464 fields in a separate part. */
      readonly isStandard: boolean
    }
  | {
      readonly kind: 'complaint'
      /**
       * Whether the report has a feedback part (RFC 5965). If not, a person returned a message with
       * a complaint, or a service sent a notice. Such a report is trusted only if the fields below
       * show that the message was sent from here, and only for the recipients that it names.
       */
      readonly isStandard: boolean
      /** The feedback type in lower case (RFC 5965 §7.3). */
      readonly feedbackType: string
      /** Bare addresses; empty if the report hides them, as many reports do. */
      readonly recipients: string[]
      readonly originalMessageId: string | null
      /** The bare sender address; '' for the null reverse-path. */
      readonly originalMailFrom: string | null
      /** The bare Return-Path of the reported message. */
      readonly reportedReturnPath: string | null
      /** X-Loop values of the reported message, if its header section is returned. */
      readonly returnedLoopMarks: readonly string[]
    }
  | { readonly kind: 'none' }

/** Maximum recipients per report, the same as for a send. */
export const REPORT_RECIPIENTS_MAX = 100
/** Characters of a server's response that are stored with a delivery. */
export const RESPONSE_LENGTH_MAX = 1_000

/** Fields of one recipient by lower-case name; repeated fields are ignored. */
export type RecipientFields = ReadonlyMap<string, string>

const OF_RECIPIENT = new Set([
  'original-recipient',
  'final-recipient',
  'action',
  'status',
  'remote-mta',
  'diagnostic-code',
  'last-attempt-date',
  'will-retry-until',
  'final-log-id',
  'x-actual-recipient',
  'x-supplementary-info',
  'x-postfix-sender',
])

/**
 * Groups of fields, one per recipient. An empty line or a repeated field ends a group, because
 * senders omit empty lines and put some within groups.
 */
export function recipientGroups(lines: readonly string[]): RecipientFields[] {
  const groups: Map<string, string>[] = []
  let group = new Map<string, string>()
  let last: string | null = null
  const finish = () => {
    if (isRecipientGroup(group) && groups.length < REPORT_RECIPIENTS_MAX) groups.push(group)
    group = new Map()
    last = null
  }
  for (const line of lines) {
    if (line.trim() === '') {
      if (isComplete(group)) finish()
      last = null
      continue
    }
    const field = fieldOf(line)
    const name = field?.name ?? ''
    if (field !== null && OF_RECIPIENT.has(name)) {
      if (group.has(name)) {
        if (isComplete(group) || isRecipientName(name)) finish()
        else continue
      }
      group.set(name, field.value)
      last = name
    } else if (field !== null && /^\S/.test(line)) last = null
    else if (last !== null && /^\s/.test(line)) append(group, last, line)
    // Programs forget to indent a server's multi-line response.
    else if (last === 'diagnostic-code') append(group, last, line)
  }
  finish()
  return groups
}

function fieldOf(line: string): { name: string; value: string } | null {
  const name = /^([A-Za-z][A-Za-z0-9-]{2,40})\s?:/.exec(line)
  if (name === null) return null
  return { name: name[1]?.toLowerCase() ?? '', value: line.slice(name[0].length).trimStart() }
}

function append(group: Map<string, string>, name: string, line: string): void {
  const value = group.get(name) ?? ''
  if (value.length < 4 * RESPONSE_LENGTH_MAX) group.set(name, `${value} ${line.trim()}`)
}

function isRecipientName(name: string): boolean {
  return name === 'final-recipient' || name === 'original-recipient'
}

function isRecipientGroup(group: RecipientFields): boolean {
  const namesOne = group.has('final-recipient') || group.has('original-recipient')
  return namesOne
    ? group.has('action') || group.has('status') || group.has('diagnostic-code')
    : group.has('action') && (group.has('status') || group.has('diagnostic-code'))
}

function isComplete(group: RecipientFields): boolean {
  return (
    (group.has('final-recipient') || group.has('original-recipient')) &&
    group.has('action') &&
    group.has('status')
  )
}

export function recipientNames(group: RecipientFields): string[] {
  const names = [group.get('final-recipient'), group.get('original-recipient')].map(recipientOf)
  return names.filter((name) => name !== null)
}

/**
 * `words` is the text for people about the recipient, used if the fields contain little
 * information. `transcript` is text that may show which command the server refused.
 */
export function readRecipientGroup(
  group: RecipientFields,
  words: string,
  transcript: string = words,
): ReportedRecipient {
  const diagnosticField = group.get('diagnostic-code') ?? ''
  const statusField = group.get('status') ?? ''
  const diagnostic = cleanLine(diagnosticField.replace(/^\s*[\w-]{1,20}\s*;/, '')).trim()
  const said = findCodes(diagnosticField.replaceAll(';', '; '))
  const status = findCodes(statusField)
  const worded = findCodes(words)
  const replyCode = said.replyCode ?? (diagnostic === '' ? worded.replyCode : null)
  const statusCode = statusOf(statusField) ?? status.enhancedCode
  const candidates = [statusCode, said.enhancedCode, diagnostic === '' ? worded.enhancedCode : null]
  const enhancedCode = chooseCode(candidates) ?? undefinedCode(replyCode, group)
  const isTelling = diagnostic.length > 12
  const text = statedReason(words) ?? (isTelling ? diagnostic : `${diagnostic} ${words}`.trim())
  const statusComment = /\(([^()]*)\)/.exec(statusField)?.[1] ?? ''
  return {
    recipient: recipientOf(group.get('final-recipient') ?? group.get('original-recipient')),
    originalRecipient: recipientOf(group.get('original-recipient')),
    action: actionOf(group, enhancedCode),
    enhancedCode,
    replyCode,
    diagnostic: (diagnostic || cleanLine(words)).slice(0, RESPONSE_LENGTH_MAX),
    bounceClass: classifyBounce({
      enhancedCode,
      replyCode,
      text: `${text} ${statusComment}`,
      stage: stageOf(`${diagnostic} ${transcript}`),
    }),
  }
}

/** The reason that a delivery program stated for its own refusal, whatever its code. */
function statedReason(words: string): string | null {
  return /\bwas automatically rejected:\s*(\S.{0,300})/i.exec(words)?.[1] ?? null
}

/** The first code that means more than its class, or else the first code. */
function chooseCode(candidates: readonly (string | null)[]): string | null {
  const known = candidates.filter((code) => code !== null)
  return known.find((code) => !isVague(code)) ?? known[0] ?? null
}

function statusOf(field: string): string | null {
  return /^\s*([245]\.\d{1,3}\.\d{1,3})\b/.exec(field)?.[1] ?? null
}

function undefinedCode(replyCode: number | null, group: RecipientFields): string | null {
  if (replyCode !== null) return `${Math.floor(replyCode / 100)}.0.0`
  const status = /^\s*([245])/.exec(group.get('status') ?? '')?.[1]
  if (status !== undefined) return `${status}.0.0`
  const action = (group.get('action') ?? '').toLowerCase()
  if (action.includes('fail')) return '5.0.0'
  return action.includes('delay') ? '4.0.0' : null
}

/** The recipient as `rfc822; address` (RFC 3464 §2.3.1), or in other common forms. */
function recipientOf(field: string | undefined): string | null {
  if (field === undefined) return null
  const value = cleanLine(field.replace(/^\s*[\w/-]{1,20}\s*;/, ''))
  // In a source route (RFC 822 §6.2.7), the mailbox is last.
  const route = /^<?@[^:]{1,255}:/.exec(value)?.[0] ?? ''
  const address = value.slice(route.length).replace(/^<|>$/g, '')
  return isOneWord(address) && address.includes('@')
    ? address
    : (firstAddress(address) ?? bareWord(address))
}

function bareWord(value: string): string | null {
  return value !== '' && isOneWord(value) ? value : null
}

function isOneWord(value: string): boolean {
  return !/[\s<>]/.test(value) && value.length <= ADDRESS_TEXT_LENGTH_MAX
}

/**
 * The action in the field, or else the one that the status implies; `delayed` if both are missing.
 */
function actionOf(group: RecipientFields, code: string | null): ReportedAction {
  const action = (group.get('action') ?? '').trim().toLowerCase()
  if (action.startsWith('fail')) return 'failed'
  if (action.startsWith('delay')) return 'delayed'
  if (action.startsWith('deliver')) return 'delivered'
  if (action.startsWith('relay')) return 'relayed'
  if (action.startsWith('expand')) return 'expanded'
  if (code?.startsWith('2')) return 'delivered'
  return code?.startsWith('5') && !group.has('will-retry-until') ? 'failed' : 'delayed'
}
