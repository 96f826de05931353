// Reads the fields in which Gmail, Thunderbird and mbox programs record the state of a message.

import { domainToASCII } from 'node:url'
import type { SkipReason } from '@mailroom/contract/transfers.ts'
import { decodeWords } from '@mailroom/mail/encoded-word.ts'
import { type HeaderField, readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { isLabel } from '#mailbox/labels/store/facets.ts'
import { type GmailState, gmailStates } from './gmail-labels.ts'

export type Noted = {
  readonly isRead: boolean | null
  readonly labels: readonly string[]
  readonly skip: SkipReason | null
}

export function readNoted(raw: Uint8Array): Noted {
  const { fields } = readHeaderSection(raw)
  const own = writtenByProgram(fields)
  const gmail = own.get('x-gmail-labels')
  if (gmail !== undefined) return notedByGmail(gmail)
  const mozilla = /^\s*([0-9a-f]{4})\s*$/i.exec(own.get('x-mozilla-status') ?? '')?.[1]
  if (mozilla !== undefined) return notedByThunderbird(parseInt(mozilla, 16), own)
  const status = lastOf(fields, 'status')
  if (status === null || !/^\s*[ROUDN]*\s*$/i.test(status)) return NOTHING
  const extended = /^\s*([A-Z]*)\s*$/i.exec(lastOf(fields, 'x-status') ?? '')?.[1] ?? ''
  // A sender can write these fields, so they never cause a message to be skipped.
  const labels = /F/i.test(extended) ? ['starred'] : []
  return { isRead: /R/i.test(status), labels, skip: null }
}

const NOTHING: Noted = { isRead: null, labels: [], skip: null }

/** Reads only fields above the trace fields, where a sender cannot add any. */
function writtenByProgram(fields: readonly HeaderField[]): Map<string, string> {
  const written = new Map<string, string>()
  for (const { name, value } of fields) {
    if (TRACE_FIELDS.has(name)) break
    if (!written.has(name)) written.set(name, value)
  }
  return written
}

const TRACE_FIELDS = new Set(['received', 'return-path', 'delivered-to'])

function lastOf(fields: readonly HeaderField[], name: string): string | null {
  return fields.findLast((field) => field.name === name)?.value ?? null
}

function notedByGmail(field: string): Noted {
  const words = splitLabels(decodeWords(field))
  const states = words.map((word) => gmailStates.get(word.toLowerCase()) ?? null)
  const has = (state: GmailState) => states.includes(state)
  const skip = has('trash') ? 'trash' : has('spam') ? 'spam' : has('draft') ? 'draft' : null
  const labels = labelsOf(words.filter((_, index) => states[index] === null))
  return { isRead: !has('unread'), labels, skip }
}

/** A label with a comma is quoted. */
function splitLabels(text: string): string[] {
  const words = text.match(/"(?:[^"\\]|\\.)*"|[^",]+/g) ?? []
  return words
    .map((word) => word.replace(/\s+/g, ' ').trim())
    .map((word) => (word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word))
    .filter((word) => word !== '')
}

// Flags from Thunderbird's nsMsgMessageFlags.idl.
const MOZILLA_READ = 0x0001
const MOZILLA_MARKED = 0x0004
const MOZILLA_EXPUNGED = 0x0008

function notedByThunderbird(flags: number, own: ReadonlyMap<string, string>): Noted {
  const keys = (own.get('x-mozilla-keys') ?? '').split(/\s+/).filter((key) => key !== '')
  const marks = (flags & MOZILLA_MARKED) === 0 ? [] : ['starred']
  return {
    isRead: (flags & MOZILLA_READ) !== 0,
    labels: labelsOf([...keys, ...marks]),
    skip: (flags & MOZILLA_EXPUNGED) === 0 ? null : 'trash',
  }
}

const LABELS_MAX = 64
const LABEL_LENGTH_MAX = 64

/** Letters lose their diacritics; other non-ASCII text becomes Punycode. */
function labelsOf(words: readonly string[]): string[] {
  const labels = words.map(labelOf).filter((label) => isLabel(label))
  return [...new Set(labels)].slice(0, LABELS_MAX)
}

function labelOf(word: string): string {
  const parts = word
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .split('/')
  return parts
    .map((part) => asAscii(part.normalize('NFC').replace(/[^\p{L}\p{N}._]+/gu, '-')))
    .map((part) => part.replace(/^[-._]+|[-._]+$/g, ''))
    .filter((part) => part !== '')
    .join('/')
    .slice(0, LABEL_LENGTH_MAX)
}

function asAscii(text: string): string {
  return /^[\x20-\x7e]*$/.test(text)
    ? text
    : domainToASCII(text.replaceAll('.', '-').replace(/^-+|-+$/g, ''))
}
