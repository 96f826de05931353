// Lists of recipients as people type and paste them, and everybody whom a reply to all reaches.

import type { Message } from '@mailroom/sdk'
import { readPerson } from './format.ts'

/** `Name <address>`, else a word, so that nothing typed is left out. */
const ENTRY = /(?:"(?:[^"\\]|\\.)*"|[^",;<>@]){0,200}<[^<>]*>|(?:"(?:[^"\\]|\\.)*"|[^,;\s"])+|"/g

/** Separated by commas, semicolons or white space. */
export function splitRecipients(text: string): string[] {
  return [...text.matchAll(ENTRY)].map(([entry]) => entry.trim())
}

export type Everybody = { readonly to: readonly string[]; readonly cc: readonly string[] }

/** As the service derives it for `replyAll`: whoever wrote, and everybody else who got the message. */
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
  const author = readPerson(message.fromAddr).address
  const wanted = takeNew(isOwn ? message.to : splitRecipients(message.replyTo ?? ''))
  const to = wanted.length > 0 || isOwn ? wanted : takeNew([author])
  const copier = message.deliveryRole === 'cc' ? [author] : []
  const cc = takeNew(isOwn ? message.cc : [...message.to, ...message.cc, ...copier])
  return to.length > 0 ? { to, cc } : { to: cc, cc: [] }
}

export function keyOf(entry: string): string {
  return readPerson(entry).address.toLowerCase()
}

/** The address without its tag: mail for it reaches the same inbox. */
function inboxOf(entry: string): string {
  return keyOf(entry).replace(/^([^+]+)\+.*(@[^@]*)$/, '$1$2')
}
