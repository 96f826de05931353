// Finds addresses in a message, in any spelling that people and models understand.

import { openMime } from '@mailroom/mail/mime/mime-message.ts'
import { contentOf, type MailContent, partsOf } from '#content/parts.ts'
import { readingsOf } from './readings.ts'
import { folded, NO_LETTERS, type Spelling, spellingsOf } from './spelling.ts'

/**
 * Returns the `addresses` that the content mentions in its subject, free header text, text, HTML
 * (including hidden text, attributes and comments), textual files, and attached messages. Matches
 * addresses with spaces, brackets or words for signs (`ann at client dot example`), letter by
 * letter, in full-width letters, with or in invisible characters, backwards, as a U-label,
 * percent-encoded, escaped, in base64 or hexadecimal, with another tag (`ann+x@`), and with name
 * and domain apart. `addresses` are in lower case with A-labels. Null if the content could not be
 * read completely, as in `findSecrets`. Runs in linear time.
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

/** `findMentions` for a raw message, plus texts extracted from its files. */
export function findMentionsIn(
  raw: Uint8Array,
  { addresses, texts = [] }: { addresses: readonly string[]; texts?: readonly string[] },
): string[] | null {
  const content = contentOf(openMime(raw))
  return findMentions({ ...content, text: [content.text, ...texts].join('\n\n') }, addresses)
}
