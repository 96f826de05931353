// Finds the words and phrases of a table in folded text, the longest at each place: in time linear in
// the text, whatever the table's size. Knows where a word begins and ends in scripts with and without
// spaces.

import { foldLine } from './fold-line.ts'

/** Phrases between commas; one that ends with `*` may go on with any letters. */
export type WordList = string

type Phrase<Kind> = { readonly text: string; readonly isOpen: boolean; readonly kind: Kind }
export type Found<Kind> = { readonly kind: Kind; readonly start: number; readonly end: number }

export class WordTable<Kind> {
  /** By their first two characters, the longest first. */
  readonly #phrases = new Map<string, Phrase<Kind>[]>()

  /** Of a phrase that is in several lists the first counts. */
  constructor(lists: readonly (readonly [Kind, readonly WordList[]])[]) {
    const known = new Set<string>()
    for (const [kind, words] of lists) {
      for (const word of words.flatMap((list) => list.split(','))) {
        const folded = foldLine(word.trim().replace(/\s+/g, ' '))
        if (folded === '' || known.has(folded)) continue
        known.add(folded)
        this.#add(folded, kind)
      }
    }
    for (const bucket of this.#phrases.values()) {
      bucket.sort((a, b) => b.text.length - a.text.length)
    }
  }

  /** In order, without overlaps. */
  findAll(text: string): Found<Kind>[] {
    const found: Found<Kind>[] = []
    for (let at = 0; at < text.length; ) {
      const match = this.matchAt(text, at)
      if (match === null) at++
      else {
        found.push(match)
        at = match.end
      }
    }
    return found
  }

  hasAny(text: string): boolean {
    for (let at = 0; at < text.length; at++) if (this.matchAt(text, at) !== null) return true
    return false
  }

  /** The longest phrase that begins right there, as a word of its own in scripts that set spaces. */
  matchAt(text: string, at: number): Found<Kind> | null {
    if (text.charCodeAt(at) === SPACE) return null
    const isInWord = at > 0 && isSpacedLetter(text, at) && isSpacedLetter(text, at - 1)
    if (isInWord) return null
    const bucket = this.#phrases.get(text.slice(at, at + 2))
    const single = this.#phrases.get(text.charAt(at))
    if (bucket === undefined && single === undefined) return null
    return this.#firstOf(bucket, text, at) ?? this.#firstOf(single, text, at)
  }

  #firstOf(
    phrases: readonly Phrase<Kind>[] | undefined,
    text: string,
    at: number,
  ): Found<Kind> | null {
    for (const phrase of phrases ?? []) {
      if (!text.startsWith(phrase.text, at)) continue
      const end = at + phrase.text.length
      const goesOn = isSpacedLetter(text, end - 1) && isSpacedLetter(text, end)
      if (phrase.isOpen || !goesOn) return { kind: phrase.kind, start: at, end }
    }
    return null
  }

  #add(word: string, kind: Kind): void {
    const isOpen = word.endsWith('*')
    const text = isOpen ? word.slice(0, -1) : word
    const key = text.slice(0, 2)
    const bucket = this.#phrases.get(key)
    if (bucket === undefined) this.#phrases.set(key, [{ text, isOpen, kind }])
    else bucket.push({ text, isOpen, kind })
  }
}

const SPACE = 0x20
const SPACED = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Nd}]/u

/** Whether the character is part of words that spaces keep apart, and that take few endings. */
export function isSpacedLetter(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (Number.isNaN(code)) return false
  if (code < 0x80) {
    return (
      (code >= 0x61 && code <= 0x7a) ||
      (code >= 0x30 && code <= 0x39) ||
      (code >= 0x41 && code <= 0x5a)
    )
  }
  // Folded text has few letters in between: those of Greek, Cyrillic and what has no plain form.
  return code < 0x0530 || (code >= 0x1e00 && code < 0x2000) ? SPACED.test(text.charAt(at)) : false
}
