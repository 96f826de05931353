// Addresses in a mail, in any of the spellings that people and models understand.

import { openMime } from '@mailroom/mail/mime/mime-message.ts'
import { contentOf, type MailContent, partsOf } from '#content/parts.ts'
import { readingsOf } from './readings.ts'
import { folded, NO_LETTERS, type Spelling, spellingsOf } from './spelling.ts'

/**
 * Those of `addresses` that the content mentions: subject, free text of the header, text, HTML (hidden text, attributes and
 * comments too), files that are text, and the messages among them. An address counts with spaces, brackets or words for
 * its signs (`ann at client dot example`), letter by letter, in full-width letters, with unseen characters or of them
 * alone, backwards, in a U-label, in percent signs, escapes, base64 or hexadecimal, with another tag (`ann+x@`), and with
 * its name and its domain apart. `addresses` are in lower case with A-labels. Null when the content could not be read
 * whole, as in `findSecrets`. Time is linear in its length.
 */
export function findMentions(content: MailContent, addresses: readonly string[]): string[] | null {
  const parts = partsOf(content)
  if (parts === null) return null
  const missing = new Map(addresses.map((address) => [address, spellingsOf(address)]))
  for (const part of parts) {
    for (const { text } of readingsOf(part)) {
      if (missing.size === 0) break
      dropMentioned(missing, folded(text))
    }
  }
  return addresses.filter((address) => !missing.has(address))
}

function dropMentioned(missing: Map<string, Spelling[]>, text: string): void {
  const letters = text.replace(NO_LETTERS, '')
  const has = ({ words, pattern }: Spelling) =>
    words.every((word) => letters.includes(word)) && pattern.test(text)
  for (const [address, spellings] of missing) {
    if (spellings.some(has)) missing.delete(address)
  }
}

/** `findMentions` of a raw message, and of texts of its files that were read from other formats. */
export function findMentionsIn(
  raw: Uint8Array,
  { addresses, texts = [] }: { addresses: readonly string[]; texts?: readonly string[] },
): string[] | null {
  const content = contentOf(openMime(raw))
  return findMentions({ ...content, text: [content.text, ...texts].join('\n\n') }, addresses)
}
