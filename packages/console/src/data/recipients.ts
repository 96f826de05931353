// Parses typed and pasted recipients, and derives the recipients of a reply to all.

import type { Message } from '@mailroom/sdk'
import { formatPerson, readPerson } from './format.ts'

/** Matches `Name <address>`, else a word, so that no typed text is dropped. */
const ENTRY = /(?:"(?:[^"\\]|\\.)*"|[^",;<>@]){0,200}<[^<>]*>|(?:"(?:[^"\\]|\\.)*"|[^,;\s"])+|"/g

/** Splits addresses at commas, semicolons and white space. */
export function splitRecipients(text: string): string[] {
  return [...text.matchAll(ENTRY)].map(([entry]) => entry.trim())
}

/** The end of the text, after the last separator: the entry being typed. */
export function lastEntry(text: string): string {
  return /(?:"(?:[^"\\]|\\.)*"?|[^",;])*$/.exec(text)?.[0].trimStart() ?? ''
}

/** Whether the entry is an address typed to its end, alone or after a name. */
export function isWholeAddress(entry: string): boolean {
  return /^[^\s<>]+@[^\s<>@]+\.[^\s<>@]+$/.test(readPerson(entry).address)
}

export type Everybody = { readonly to: readonly string[]; readonly cc: readonly string[] }

/** Mirrors how the service derives `replyAll`: the author and every other recipient. */
export function everybodyIn(message: Message): Everybody {
  const isOwn = message.direction === 'outbound'
  const seen = new Set(
    [isOwn ? message.fromAddr : message.toAddr, message.recipient ?? ''].map(inboxOf),
  )
  const takeNew = (addresses: readonly string[]) =>
    addresses.filter((address) => {
      const isNew = !seen.has(keyOf(address)) && !seen.has(inboxOf(address))
      seen.add(keyOf(address))
      return isNew
    })
  const author = formatPerson(readPerson(message.fromAddr))
  const wanted = takeNew(isOwn ? message.to : splitRecipients(message.replyTo ?? ''))
  const to = wanted.length > 0 || isOwn ? wanted : takeNew([author])
  const copier = message.deliveryRole === 'cc' ? [author] : []
  const cc = takeNew(isOwn ? message.cc : [...message.to, ...message.cc, ...copier])
  return to.length > 0 ? { to, cc } : { to: cc, cc: [] }
}

export function keyOf(entry: string): string {
  return readPerson(entry).address.toLowerCase()
}

/** The address without its tag. Mail with and without the tag reaches the same inbox. */
function inboxOf(entry: string): string {
  return keyOf(entry).replace(/^([^+]+)\+.*(@[^@]*)$/, '$1$2')
}
