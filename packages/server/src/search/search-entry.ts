// What of a message can be found: its subject, its addresses and its text, as bounded lists of words.

import type { Message } from '#mailbox/message.ts'
import { eachWord, foldText, isUnspaced } from './search-words.ts'

/** Of a message's text what can be found, in UTF-16 units: what comes later is quoted history or data. */
export const SEARCH_BODY_LENGTH_MAX = 64 * 1024
/** Of a message: PostgreSQL keeps 16,383 positions, and 1 MiB with all that belongs to a word. */
export const SEARCH_ENTRY_WORDS_MAX = 10_000
export const SEARCH_ENTRY_BYTES_MAX = 256 * 1024
const SEARCH_SUBJECT_WORDS_MAX = 500
/** In each of sender and recipients, half of them whole addresses. */
const SEARCH_ADDRESS_WORDS_MAX = 2_000

export type SearchableMessage = Pick<
  Message,
  'direction' | 'fromAddr' | 'toAddr' | 'headerTo' | 'cc' | 'subject' | 'bodyText'
>

/** Words of each field in order; behind SEPARATOR what stands in no order. */
export type SearchEntry = {
  readonly subject: readonly string[]
  readonly sender: readonly string[]
  readonly recipients: readonly string[]
  readonly body: readonly string[]
}

/** No word, so that no phrase goes across. */
export const SEPARATOR = '/'

/**
 * The words of a message: at most SEARCH_ENTRY_WORDS_MAX and SEARCH_ENTRY_BYTES_MAX octets in all, of
 * the text the first SEARCH_BODY_LENGTH_MAX UTF-16 units.
 */
export function makeSearchEntry(message: SearchableMessage): SearchEntry {
  const room = { words: SEARCH_ENTRY_WORDS_MAX, bytes: SEARCH_ENTRY_BYTES_MAX }
  const subject = takeWords(message.subject, SEARCH_SUBJECT_WORDS_MAX, room)
  const own = ownAddressOf(message)
  const sender = takeAddresses(senderOf(message), own, room)
  const recipients = takeAddresses(recipientsOf(message), own, room)
  const text = message.bodyText.slice(0, SEARCH_BODY_LENGTH_MAX)
  return { subject, sender, recipients, body: takeWords(text, room.words, room) }
}

/** Everybody whom it is addressed to, as one text. */
export function recipientsOf({ toAddr, headerTo, cc }: SearchableMessage): string {
  return [toAddr, ...(headerTo === null || headerTo === toAddr ? [] : [headerTo]), ...cc].join(', ')
}

/** A whole address as it is found, or null when the text is none that is written plainly. */
export function readAddressWord(text: string): string | null {
  if (text.length > ADDRESS_LENGTH_MAX) return null
  const folded = foldText(text)
  return WHOLE_ADDRESS.test(folded) ? folded : null
}

const ADDRESS_LENGTH_MAX = 320
// What RFC 5321 §4.1.2 allows without quotes; the rest separates.
const ADDRESS_PIECE = /[^\s\x00-\x20"'\\()<>,;:[\]\x60\x7f]+/g
const WHOLE_ADDRESS =
  /^[^\s\x00-\x20"'\\()<>,;:[\]@\x60\x7f]+@[^\s\x00-\x20"'\\()<>,;:[\]@\x60\x7f]+$/

type Room = { words: number; bytes: number }

function takeWords(text: string, max: number, room: Room): string[] {
  const taken: string[] = []
  const letters = new Set<string>()
  const take = (word: string) => {
    const bytes = Buffer.byteLength(word)
    if (taken.length >= max || room.words <= 0 || room.bytes < bytes) return false
    taken.push(word)
    room.words -= 1
    room.bytes -= bytes
    return true
  }
  for (const { word, isPair } of eachWord(text)) {
    // Room for the letters is kept.
    if (taken.length + letters.size + 3 > Math.min(max, room.words + taken.length)) break
    if (!take(word)) break
    if (isPair) for (const letter of word) letters.add(letter)
  }
  if (letters.size > 0 && take(SEPARATOR)) {
    for (const letter of letters) if (isUnspaced(letter) && !take(letter)) break
  }
  return taken
}

/**
 * The words of names and addresses, and each address as a whole. Of the inbox's own address only the
 * whole, under a form that no word of a query has, and the words of its tag: every message of the inbox
 * has that address, so its words would find all of them.
 */
function takeAddresses(text: string, own: OwnAddress | null, room: Room): string[] {
  const cut = text.slice(0, SEARCH_BODY_LENGTH_MAX)
  const half = SEARCH_ADDRESS_WORDS_MAX / 2
  const whole = new Set<string>()
  const worded: string[] = []
  let wordedTo = 0
  for (const { piece, index } of piecesOf(cut)) {
    const address = readAddressWord(piece)
    if (address === null) continue
    const tag = own === null ? null : tagOf(address, own)
    if (tag !== null) {
      worded.push(cut.slice(wordedTo, index), tag)
      wordedTo = index + piece.length
    }
    if (whole.size < half) whole.add(tag === null ? address : ownAddressWord(address))
  }
  const words = takeWords([...worded, cut.slice(wordedTo)].join(' '), half, room)
  for (const word of [...(whole.size > 0 ? [SEPARATOR] : []), ...whole]) {
    const bytes = Buffer.byteLength(word)
    if (room.words <= 0 || room.bytes < bytes) break
    words.push(word)
    room.words -= 1
    room.bytes -= bytes
  }
  return words
}

/** How the inbox's own address is kept. SEPARATOR begins no word. */
export function ownAddressWord(address: string): string {
  return `${SEPARATOR}${address}`
}

type OwnAddress = { local: string; domain: string }

function ownAddressOf({ direction, fromAddr, toAddr }: SearchableMessage): OwnAddress | null {
  const address = readAddressWord(direction === 'inbound' ? toAddr : bareAddressOf(fromAddr))
  if (address === null) return null
  const at = address.lastIndexOf('@')
  return { local: address.slice(0, at), domain: address.slice(at + 1) }
}

/** What the address has behind a plus, '' for nothing; null when it is not the inbox's own. */
function tagOf(address: string, { local, domain }: OwnAddress): string | null {
  if (!address.startsWith(local) || !address.endsWith(`@${domain}`)) return null
  const rest = address.slice(local.length, -domain.length - 1)
  if (rest === '') return ''
  return rest.startsWith('+') ? rest.slice(1) : null
}

/** The name of the inbox is on all that it sends, as its address is. */
function senderOf({ direction, fromAddr }: SearchableMessage): string {
  return direction === 'inbound' ? fromAddr : bareAddressOf(fromAddr)
}

function bareAddressOf(mailbox: string): string {
  return mailbox.endsWith('>') ? mailbox.slice(mailbox.lastIndexOf('<') + 1, -1) : mailbox
}

function* piecesOf(text: string): Generator<{ piece: string; index: number }> {
  for (const match of text.matchAll(ADDRESS_PIECE)) yield { piece: match[0], index: match.index }
}
