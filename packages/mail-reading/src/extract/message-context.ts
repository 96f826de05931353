// What stands around a line: the lines near it, the subject, and what was found before.

import type { Candidate } from './code-candidates.ts'
import type { ReadLine } from './read-lines.ts'

/** Lines with text, before and after, that tell what a line is about; blank ones between them. */
const NEAR_LINES = 6
const NEAR_LINES_WITH_BLANKS = 4 * NEAR_LINES
/** Of the other text of the message, lines that tell it. */
const OTHER_LINES = 12

/** What the lines around a line and the subject speak of. */
export type About = { readonly isVerifying: boolean; readonly isElsewhere: boolean }

export class MessageContext {
  readonly lines: readonly ReadLine[]
  /** Of a body the subject, of a subject the body. */
  readonly other: readonly ReadLine[]
  readonly isSubject: boolean
  readonly #accepted = new Map<number, Candidate[]>()
  readonly #about = new Map<number, About>()

  constructor(lines: readonly ReadLine[], other: readonly ReadLine[], isSubject: boolean) {
    this.lines = lines
    this.other = other.filter((line) => !line.isBlank).slice(0, OTHER_LINES)
    this.isSubject = isSubject
  }

  /** To be told of each candidate that counts as a code, in order. */
  accept(at: number, candidate: Candidate): void {
    const known = this.#accepted.get(at)
    if (known === undefined) this.#accepted.set(at, [candidate])
    else known.push(candidate)
  }

  acceptedAt(at: number): readonly Candidate[] {
    return this.#accepted.get(at) ?? []
  }

  lineAt(at: number): ReadLine | null {
    return this.lines[at] ?? null
  }

  aboutAt(at: number): About {
    const known = this.#about.get(at)
    if (known !== undefined) return known
    const lines = [...this.#near(at), ...this.other]
    const about = {
      isVerifying: lines.some((line) => line.isVerifying),
      isElsewhere: lines.some((line) => line.isElsewhere),
    }
    this.#about.set(at, about)
    return about
  }

  #near(at: number): ReadLine[] {
    const found = this.lines.slice(at, at + 1)
    for (const step of [-1, 1]) {
      let count = 0
      for (let far = 1; far <= NEAR_LINES_WITH_BLANKS && count < NEAR_LINES; far++) {
        const line = this.lines[at + step * far]
        if (line === undefined) break
        if (line.isBlank) continue
        found.push(line)
        count++
      }
    }
    return found
  }
}
