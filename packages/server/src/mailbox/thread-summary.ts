// What a list of threads shows of each: who takes part, and how the newest message begins. Pure functions
// of messages, so that a thread that is followed message by message and one that is read as a whole agree.

import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { RemovalTally, stripInvisible } from '@mailroom/mail-reading/view/removal.ts'
import { addressKey } from '#platform/email-address.ts'

/** `name` is null where no message of theirs, and none to them, has one. */
export type Participant = { name: string | null; address: string }

/** What a message of an inbox tells of its participants, in the words of its row. */
export type Correspondence = {
  direction: string
  from_addr: string
  to_addr: string
  /** A JSON list. */
  cc: string
}

/** Part of the API. */
export const PARTICIPANTS_MAX = 10
/** In code points. Part of the API. */
export const THREAD_SNIPPET_LENGTH = 160
/** In UTF-16 units: how much of a text a snippet is looked for in, however much of it nobody sees. */
export const SNIPPET_SOURCE_LENGTH = 8_192

/** In code points; names are strangers' words and stand in every list. */
const NAME_LENGTH_MAX = 100
/** In code points; RFC 5321 §4.5.3.1 allows 64 octets before the @ and 255 after it. */
const ADDRESS_LENGTH_MAX = 320

/**
 * The participants of a thread once this message has come: whoever wrote it to the inbox or got it from
 * the inbox (to, then cc) stands first, each address once, at most PARTICIPANTS_MAX. The inbox itself is
 * one of them only while there is nobody else.
 */
export function addParticipants(
  known: readonly Participant[],
  message: Correspondence,
): Participant[] {
  const own = addressKey(ownAddressOf(message))
  const byKey = new Map<string, Participant>()
  for (const participant of [...namedIn(message), ...known]) {
    const key = addressKey(participant.address)
    const newer = byKey.get(key)
    if (newer === undefined) byKey.set(key, { ...participant })
    // An answer to a bare address does not make a correspondent nameless.
    else newer.name ??= participant.name
  }
  if (byKey.size > 1) byKey.delete(own)
  return [...byKey.values()].slice(0, PARTICIPANTS_MAX)
}

/**
 * The beginning of what is new in a message, on one line and without characters that nobody sees; of
 * all of its text where nothing in it is new.
 */
export function snippetOf(text: { body_text: string; extracted_text?: string | null }): string {
  const { body_text: whole, extracted_text: own } = text
  return onOneLine(own ?? whole, THREAD_SNIPPET_LENGTH) || onOneLine(whole, THREAD_SNIPPET_LENGTH)
}

function ownAddressOf({ direction, from_addr, to_addr }: Correspondence): string {
  return direction === 'inbound' ? to_addr : (parseAddressList(from_addr)[0]?.address ?? from_addr)
}

function namedIn({ direction, from_addr, to_addr, cc }: Correspondence): Participant[] {
  const fields = direction === 'inbound' ? [from_addr] : [to_addr, ...(JSON.parse(cc) as string[])]
  return fields.map(readParticipant).filter(({ address }) => address !== '')
}

function readParticipant(field: string): Participant {
  // What cannot be read as a mailbox, such as a reverse-path, stands there as it is.
  const { name, address } = parseAddressList(field)[0] ?? { name: '', address: field }
  return {
    name: onOneLine(name, NAME_LENGTH_MAX) || null,
    address: onOneLine(address, ADDRESS_LENGTH_MAX),
  }
}

function onOneLine(text: string, lengthMax: number): string {
  const source = text.slice(0, SNIPPET_SOURCE_LENGTH).replace(/[\ud800-\udbff]$/, '')
  const seen = stripInvisible(source, new RemovalTally()).toWellFormed()
  const line = seen.replace(/\s+/g, ' ').trim()
  if (line.length <= lengthMax) return line
  const points = Array.from(line.slice(0, 2 * lengthMax))
  return points.slice(0, lengthMax).join('').trimEnd()
}
