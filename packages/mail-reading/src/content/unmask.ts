import { plainReading, type Reading, ReadingWriter } from './reading.ts'

/**
 * Invisible characters and those that look like ASCII. Excludes CJK, Cyrillic and other scripts.
 */
const MASKING =
  /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Pd}\p{Zs}\u2028\u2029\u2212\uff01-\uff5e\u{1d400}-\u{1d7ff}\u2070-\u209f\u2460-\u24ff]/u
const MASKING_RUNS = new RegExp(`${MASKING.source}{1,1000}`, 'gu')
const PLAIN = /^[\t\n\r\x20-\x7e]*$/
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]/u
const KEPT = /[\t\n\r\x20-\x7e]/

/**
 * The text without invisible characters (zero-width, soft hyphens, controls), with ASCII in place
 * of full-width, mathematical and circled letters, and with plain dashes and spaces.
 */
export function unmask(text: string): Reading {
  if (PLAIN.test(text)) return plainReading(text)
  const writer = new ReadingWriter(text)
  let kept = 0
  for (const { 0: run, index } of text.matchAll(MASKING_RUNS)) {
    let at = index
    for (const character of run) {
      const seen = seenAs(character)
      const end = at + character.length
      if (seen !== character) {
        writer.keep(kept, at)
        writer.replace(at, end, seen)
        kept = end
      }
      at = end
    }
  }
  writer.keep(kept, text.length)
  return writer.finish()
}

function seenAs(character: string): string {
  if (KEPT.test(character)) return character
  if (UNSEEN.test(character)) return ''
  if (/[\p{Pd}\u2212]/u.test(character)) return '-'
  if (/\p{Zs}/u.test(character)) return ' '
  if (/[\u2028\u2029]/.test(character)) return '\n'
  const ascii = character.normalize('NFKC')
  return ascii.length === 1 && KEPT.test(ascii) ? ascii : character
}
